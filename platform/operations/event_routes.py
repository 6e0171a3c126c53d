"""The event type of an object and the routes that its events go to, as sentences for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.routing.event_type import EventTypes, TagsNeeded, Typed
from tidegate.platform.core.routing.route import is_forwarded, route_takes
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.s3 import ObjectGone, StoreError


@dataclass(frozen=True)
class ForwardingTrace:
    """Where the events of an object go to.

    Attributes:
        type: its event type and why, as a sentence.
        routes: the routes, as a sentence.
    """

    type: str
    routes: str


def trace_forwarding(
    config: LakeConfig, bucket: str, key: str, tags: Callable[[str, str], Mapping[str, str]]
) -> ForwardingTrace | None:
    """Return the event type of an object and the routes that its events go to. None if the lake has neither.

    Args:
        bucket: bucket of the object.
        key: key of the object, decoded.
        tags: returns the tags of an object. It is called only if the type depends on them.
    """
    if not config.event_types and not config.routes:
        return None
    rules = EventTypes(config.event_types)
    found = rules.find_type(key, {})
    if isinstance(found, TagsNeeded):
        found = rules.find_type(key, {}, _tags(tags, bucket, key))
    assert not isinstance(found, TagsNeeded)
    name = found.name if isinstance(found, Typed) else None
    sentence = f"{found.name}, by {found.why}" if isinstance(found, Typed) else f"none: {found.why}"
    if rules.attributes:
        names = ", ".join(rules.attributes)
        sentence += f". A rule reads an attribute of the message ({names}), which is not known afterwards"
    if not is_forwarded(bucket, key, config):
        return ForwardingTrace(sentence, "none: its bucket is not in `buckets`, or Tidegate itself writes there")
    routes = [route.name for route in config.routes if route_takes(route, bucket, key, name, config)]
    return ForwardingTrace(sentence, ", ".join(routes) or "none: no route takes this type and key")


def _tags(tags: Callable[[str, str], Mapping[str, str]], bucket: str, key: str) -> Mapping[str, str] | str:
    try:
        return tags(bucket, key)
    except ObjectGone:
        return "the object is gone"
    except (StoreError, BotoCoreError, ClientError) as error:
        return first_line(error)
