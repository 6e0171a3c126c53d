"""What another team needs to get the events of a route: statements for policies, and calls of the AWS command line."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.platform.cloud.arns import Address, partition_of
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.errors import BadSetting

#: Values and bytes that a filter policy of SNS may have (AWS: "Subscription filter policy constraints in Amazon SNS").
_MAX_VALUES, _MAX_BYTES = 150, 256 * 1024
#: Stand for a region and an account that `lake.yaml` does not have.
REGION, ACCOUNT = "YOUR-REGION", "TIDEGATE-ACCOUNT"
_TYPE_ATTRIBUTE = "event_type"


@dataclass(frozen=True)
class Part:
    """A text to copy.

    Attributes:
        title: what it is for, as one line.
        text: JSON, or a call of the AWS command line.
    """

    title: str
    text: str


def subscription(
    config: LakeConfig, route: RouteSpec, account: str, queue: str = "", types: Sequence[str] = ()
) -> list[Part]:
    """Return what a team needs to get the events of a route in a queue of its own.

    Args:
        account: the team's AWS account.
        queue: name of the team's queue. Empty: a name is made of the route's destination.
        types: event types, with a `*` at the end for any text. Empty: those of the route.

    Raises:
        BadSetting: the route cannot give this. The message says what to do.
    """
    if not re.fullmatch(r"\d{12}", account):
        raise BadSetting(f"{account!r} is not an AWS account: give its 12 digits")
    if route.acts:
        raise BadSetting(f"the route {route.name} sends no events, so nobody can subscribe to it: use another route")
    for event_type in types:
        if not _forwards(route, event_type):
            raise BadSetting(
                f"the route {route.name} does not forward {event_type!r}: its types are {', '.join(route.types)}"
            )
    if route.topic:
        return _topic_parts(route, account, queue, types or route.types)
    address = Address.from_config(config)
    ours = ACCOUNT if address.account == "*" else address.account
    if route.queues_tagged:
        return _tag_parts(route, account, ours, _known_region(address.region), queue, types)
    return _queue_parts(route, account, ours, _known_region(address.region), queue, types)


def _topic_parts(route: RouteSpec, account: str, queue: str, types: Sequence[str]) -> list[Part]:
    region, owner, name = (route.topic or "").split(":")[3:]
    endpoint = f"arn:{partition_of(region)}:sqs:{region}:{account}:{queue or name}"
    topics = _topics_of(route, types)
    parts = []
    if account != owner:
        for topic in topics:
            statement = {
                "Sid": f"Subscribe{account}",
                "Effect": "Allow",
                "Principal": _role_of(account, region),
                "Action": "sns:Subscribe",
                "Resource": topic,
                "Condition": {"StringEquals": {"sns:Protocol": "sqs", "sns:Endpoint": endpoint}},
            }
            which = "the topic" if len(topics) == 1 else topic.rpartition(":")[2]
            parts.append(Part(f"a statement for the policy of {which}, in account {owner}", _json(statement)))
    sources = next(iter(topics)) if len(topics) == 1 else list(topics)
    policy = _policy({"Service": "sns.amazonaws.com"}, endpoint, {"ArnEquals": {"aws:SourceArn": sources}})
    parts.append(Part(f"the policy of the queue, in account {account}", _json(policy)))
    for topic, own in topics.items():
        attributes = {"RawMessageDelivery": "true", **_filter(own)}
        call = ["aws", "sns", "subscribe", "--region", region, "--topic-arn", topic, "--protocol", "sqs"]
        call += ["--notification-endpoint", endpoint, "--attributes", json.dumps(attributes)]
        parts.append(Part(f"the subscription, with the credentials of account {account}", shlex.join(call)))
    return parts


def _topics_of(route: RouteSpec, types: Sequence[str]) -> dict[str, list[str]]:
    """Return the topics that get events of some types, each with these types. No types: all events of all topics."""
    topics: dict[str, list[str]] = {} if types else {topic: [] for topic in route.topics}
    for name in types:
        for topic in route.topics if name.endswith("*") else [route.topic_of(name)]:
            topics.setdefault(topic, []).append(name)
    return topics


def _queue_parts(
    route: RouteSpec, account: str, ours: str, region: str, queue: str, types: Sequence[str]
) -> list[Part]:
    assert route.queue is not None
    if types:
        raise BadSetting(f"a queue has no filter: give `types` to the route {route.name} of lake.yaml instead")
    if queue and queue != route.queue.name:
        raise BadSetting(f"the route {route.name} sends to {route.queue.name}: give that queue, or add a route")
    region = route.queue.region or region
    arn = f"arn:{partition_of(region)}:sqs:{region}:{account}:{route.queue.name}"
    parts = [Part(f"the policy of the queue, in account {account}", _json(_policy(_role_of(ours, region), arn)))]
    if route.queue.given_name and account != ours:
        url = f"https://sqs.{region}.amazonaws.com{_suffix(region)}/{account}/{route.queue.name}"
        parts.append(Part("the queue of the route in lake.yaml, if it is in another account", f"queue: {{url: {url}}}"))
    return parts


def _tag_parts(route: RouteSpec, account: str, ours: str, region: str, queue: str, types: Sequence[str]) -> list[Part]:
    if account != ours and ours != ACCOUNT:
        raise BadSetting(
            f"the route {route.name} finds the queues of account {ours} only: use a topic, or a route to a queue"
        )
    if len(types) != 1 or types[0].endswith("*"):
        raise BadSetting(f"the tag {route.queues_tagged} of a queue has one event type: give one with --types")
    name = queue or f"{re.sub(r'[^A-Za-z0-9_-]', '-', types[0])}-events"[:80]
    arn = f"arn:{partition_of(region)}:sqs:{region}:{account}:{name}"
    tag = json.dumps({route.queues_tagged: types[0]})
    call = [
        "aws",
        "sqs",
        "tag-queue",
        "--queue-url",
        f"https://sqs.{region}.amazonaws.com{_suffix(region)}/{account}/{name}",
    ]
    return [
        Part(f"the policy of the queue, in account {account}", _json(_policy(_role_of(account, region), arn))),
        Part("the tag of the queue", shlex.join([*call, "--tags", tag])),
    ]


def _forwards(route: RouteSpec, wanted: str) -> bool:
    """Return whether a route forwards events of a type, or some of the types that a pattern stands for."""
    if not route.types or wanted in route.types:
        return True
    text = wanted.removesuffix("*")
    return any(
        (name.endswith("*") and text.startswith(name[:-1])) or (wanted.endswith("*") and name.startswith(text))
        for name in route.types
    )


def _filter(types: Sequence[str]) -> dict[str, str]:
    values: list[Any] = [
        ({"prefix": name[:-1]} if name != "*" else {"exists": True}) if name.endswith("*") else name for name in types
    ]
    if not values:
        return {}
    policy = json.dumps({_TYPE_ATTRIBUTE: values})
    if len(values) > _MAX_VALUES or len(policy.encode()) > _MAX_BYTES:
        raise BadSetting(
            f"a filter policy of SNS has up to {_MAX_VALUES} values and {_MAX_BYTES // 1024} KB, and {len(values)} "
            "types were given: use prefixes such as returns.*, or a route with `queues_tagged`"
        )
    return {"FilterPolicy": policy}


def _policy(
    principal: Mapping[str, str], queue: str, condition: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    statement = {
        "Sid": "TidegateMaySend",
        "Effect": "Allow",
        "Principal": principal,
        "Action": "sqs:SendMessage",
        "Resource": queue,
        **({"Condition": condition} if condition else {}),
    }
    return {"Version": "2012-10-17", "Statement": [statement]}


def _role_of(account: str, region: str) -> dict[str, str]:
    return {"AWS": f"arn:{partition_of(region)}:iam::{account}:root"}


def _suffix(region: str) -> str:
    """Return the end of the names of hosts in China."""
    return ".cn" if partition_of(region) == "aws-cn" else ""


def _known_region(region: str) -> str:
    return REGION if region == "*" else region


def _json(value: Any) -> str:
    return json.dumps(value, indent=2)
