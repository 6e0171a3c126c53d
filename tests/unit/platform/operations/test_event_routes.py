"""What `tidegate check` and `tidegate trace` say about the event type and the routes of an object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.lake.aws.s3 import ObjectForbidden, ObjectGone
from tidegate.platform.operations.event_routes import ForwardingTrace, trace_forwarding

LAKE: dict[str, Any] = {
    "lake": {"root": "s3://lake/root"},
    "queues": [{"name": "events"}],
    "buckets": ["landing"],
    "event_types": [{"key": "events/{type}/**"}, {"tag": "kind"}],
    "routes": [
        {"name": "all", "queue": {"name": "all"}},
        {"name": "orders", "queue": {"name": "orders"}, "types": ["orders"]},
        {"name": "lines", "key": "raw/**", "unwrap": "s3://landing/raw/lines/"},
    ],
}
CONFIG = LakeConfig.model_validate(LAKE)
TAGS: dict[str, Any] = {
    "z/tagged": {"kind": "clicks"},
    "z/gone": ObjectGone("gone"),
    "z/denied": ObjectForbidden("s3:GetObjectTagging is not allowed"),
}


def tags(bucket: str, key: str) -> Mapping[str, str]:
    found = TAGS.get(key, {})
    if isinstance(found, Exception):
        raise found
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("key", "kind", "routes"),
    [
        ("events/orders/1.json", "orders, by the rule for keys like events/{type}/**", "all, orders"),
        ("events/returns/1.json", "returns, by the rule for keys like events/{type}/**", "all"),
        ("z/tagged", "clicks, by its tag 'kind'", "all"),
        ("z/none", "none: no rule of `event_types` matches it", "all"),
        ("z/gone", "none: .*its tags are not readable: the object is gone", "all"),
        ("z/denied", "none: .*its tags are not readable: s3:GetObjectTagging is not allowed", "all"),
        ("raw/1.json", "none: .*", "all, lines"),
        ("raw/lines/1.json.jsonl", "none: .*", "all"),
        ("events/orders/_delta_log/0.json", "orders, .*", "none: its bucket is not in `buckets`, or Tidegate itself"),
    ],
)
def test_the_type_and_the_routes_of_an_object_are_stated_with_the_reason(key: str, kind: str, routes: str) -> None:
    found = trace_forwarding(CONFIG, "landing", key, tags)
    assert found is not None
    assert re.fullmatch(".*".join(map(re.escape, kind.split(".*"))), found.type)
    assert found.routes.startswith(routes)


def test_tags_are_read_only_if_the_type_depends_on_them() -> None:
    def never(bucket: str, key: str) -> Mapping[str, str]:
        raise AssertionError

    assert trace_forwarding(CONFIG, "landing", "events/orders/1.json", never) is not None


def test_attributes_are_not_known_afterwards_and_a_lake_without_routes_says_nothing() -> None:
    config = LakeConfig.model_validate({**LAKE, "event_types": [{"attribute": "kind"}, {"type": "other"}]})
    assert trace_forwarding(config, "landing", "x", tags) == ForwardingTrace(
        "other, by the last rule, for every event that no other matches. A rule reads an attribute of the message "
        "(kind), which is not known afterwards",
        "all",
    )
    plain = LakeConfig.model_validate({**LAKE, "event_types": [], "routes": []})
    assert trace_forwarding(plain, "landing", "x", tags) is None
