"""What `tidegate subscribe` prints. tests/local/messages/test_forward.py applies it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tidegate.platform.cli.commands.subscribe import run_subscribe
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.queue_policy import allows_send
from tidegate.platform.cloud.subscription import subscription
from tidegate.platform.core.config.lake import LakeConfig

TOPIC = "arn:aws:sns:eu-central-1:111122223333:events"
TEAM = "444455556666"
OWN = "https://sqs.eu-central-1.amazonaws.com/111122223333/landing"
LAKE: dict[str, Any] = {
    "lake": {"root": "s3://lake/root"},
    "queues": [{"url": OWN}],
    "buckets": ["landing"],
    "event_types": [{"key": "{type}/**"}],
    "routes": [
        {"name": "all", "topic": TOPIC},
        {"name": "many", "topic": TOPIC, "shards": 21},
        {"name": "some", "topic": TOPIC, "types": ["orders", "returns.*"]},
        {"name": "search", "queue": {"name": "search"}},
        {"name": "teams", "queues_tagged": "kind", "unmatched": "nobody"},
        {"name": "owners", "tag": {"team": "{type}"}},
    ],
}
CONFIG = LakeConfig.model_validate(LAKE)


def printed(name: str, account: str = TEAM, **given: Any) -> list[str]:
    route = next(route for route in CONFIG.routes if route.name == name)
    return [part.text for part in subscription(CONFIG, route, account, **given)]


def filter_of(call: str) -> Any:
    """Return the filter policy of a call of `aws sns subscribe`; None if it has none."""
    words = shlex.split(call)
    attributes = json.loads(words[words.index("--attributes") + 1])
    return json.loads(attributes["FilterPolicy"]) if "FilterPolicy" in attributes else None


def test_another_account_may_subscribe_one_queue_to_a_topic() -> None:
    statement, policy, call = printed("all", queue="mine")
    queue = f"arn:aws:sqs:eu-central-1:{TEAM}:mine"
    assert json.loads(statement)["Principal"] == {"AWS": f"arn:aws:iam::{TEAM}:root"}
    assert json.loads(statement)["Condition"] == {"StringEquals": {"sns:Protocol": "sqs", "sns:Endpoint": queue}}
    assert allows_send(json.loads(policy), queue, "sns.amazonaws.com", TOPIC)
    assert not allows_send(json.loads(policy), queue, "sns.amazonaws.com", f"{TOPIC}2")
    assert (filter_of(call), queue in call) == (None, True)
    assert len(printed("all", "111122223333")) == 2, "the topic's own account needs no statement"


def test_a_type_has_one_topic_of_many_and_a_pattern_has_all() -> None:
    statement, policy, call = printed("many", queue="mine", types=["orders"])
    queue = f"arn:aws:sqs:eu-central-1:{TEAM}:mine"
    assert json.loads(statement)["Resource"] == f"{TOPIC}-5"
    assert allows_send(json.loads(policy), queue, "sns.amazonaws.com", f"{TOPIC}-5")
    assert not allows_send(json.loads(policy), queue, "sns.amazonaws.com", f"{TOPIC}-6")
    assert (f"{TOPIC}-5" in call, filter_of(call)) == (True, {"event_type": ["orders"]})
    for types in ([], ["returns.*"]):
        texts = printed("many", queue="mine", types=types)
        assert len(texts) == 21 + 1 + 21
        assert all(allows_send(json.loads(texts[21]), queue, "sns.amazonaws.com", f"{TOPIC}-{n}") for n in range(21))
    both = printed("many", queue="mine", types=["orders", "returns.*"])
    filters = {shlex.split(call)[6]: filter_of(call)["event_type"] for call in both if call.startswith("aws")}
    assert filters[f"{TOPIC}-5"] == ["orders", {"prefix": "returns."}]
    assert filters[f"{TOPIC}-6"] == [{"prefix": "returns."}]


@pytest.mark.parametrize(
    ("route", "types", "values"),
    [
        ("all", ["orders", "returns.*"], ["orders", {"prefix": "returns."}]),
        ("all", ["*"], [{"exists": True}]),
        ("some", [], ["orders", {"prefix": "returns."}]),
        ("some", ["returns.eu.*", "ord*"], [{"prefix": "returns.eu."}, {"prefix": "ord"}]),
        ("all", [f"t{n}" for n in range(150)], [f"t{n}" for n in range(150)]),
    ],
)
def test_a_subscription_filters_by_the_type(route: str, types: list[str], values: list[Any]) -> None:
    assert filter_of(printed(route, types=types)[-1]) == {"event_type": values}


@pytest.mark.parametrize(
    ("route", "given", "says"),
    [
        ("all", {"types": [f"t{n}" for n in range(151)]}, "151 types were given: use prefixes .* `queues_tagged`"),
        ("all", {"account": "12"}, "'12' is not an AWS account"),
        ("some", {"types": ["clicks"]}, "some does not forward 'clicks': its types are orders, returns"),
        ("some", {"types": ["orders.*"]}, "some does not forward 'orders"),
        ("search", {"types": ["orders"]}, "a queue has no filter: give `types` to the route search"),
        ("search", {"queue": "mine"}, "search sends to search: give that queue"),
        ("teams", {"types": ["orders"]}, "finds the queues of account 111122223333 only"),
        ("owners", {}, "owners sends no events, so nobody can subscribe to it"),
        ("teams", {"account": "111122223333"}, "has one event type: give one with --types"),
    ],
)
@pytest.mark.limit(
    "Events and AWS",
    "`tidegate subscribe` gives a team up to 150 event types of a topic. For more, use prefixes or "
    "`queues_tagged`, which finds queues in the account of the credentials only.",
)
def test_what_a_route_cannot_give_is_refused(route: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        printed(route, **given)


def test_a_queue_of_a_route_lets_tidegate_s_account_send() -> None:
    policy, address = printed("search")
    queue = f"arn:aws:sqs:eu-central-1:{TEAM}:search"
    (statement,) = json.loads(policy)["Statement"]
    assert statement["Principal"] == {"AWS": "arn:aws:iam::111122223333:root"}
    assert (statement["Action"], statement["Resource"]) == ("sqs:SendMessage", queue)
    assert address == f"queue: {{url: https://sqs.eu-central-1.amazonaws.com/{TEAM}/search}}"


def test_a_queue_is_found_by_the_printed_tag() -> None:
    policy, call = printed("teams", "111122223333", types=["orders.eu"])
    assert json.loads(policy)["Statement"][0]["Resource"].endswith(":orders-eu-events")
    words = shlex.split(call)
    assert words[words.index("--tags") + 1] == '{"kind": "orders.eu"}'


def test_the_command_prints_each_part_and_what_lake_yaml_does_not_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lake.yaml"
    path.write_text(json.dumps({**LAKE, "queues": [{"name": "landing"}]}))
    run_subscribe("search", TEAM, "", "", path)
    out, err = capsys.readouterr()
    assert out.startswith(f"# the policy of the queue, in account {TEAM}\n{{")
    assert "replace YOUR-REGION" in err
    assert "replace TIDEGATE-ACCOUNT" in err
    with pytest.raises(CommandError, match="no route 'none'; its routes: all, many, some, search, teams, owners"):
        run_subscribe("none", TEAM, "", "", path)
