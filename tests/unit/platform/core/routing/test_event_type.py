from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.core.config.event_types import EventTypeRule
from tidegate.platform.core.keys.key_pattern import KeyPattern
from tidegate.platform.core.routing.event_type import EventTypes, TagsNeeded, Typed, Typing, Untyped, text_attributes


def rules(*given: dict[str, Any]) -> EventTypes:
    return EventTypes([EventTypeRule.model_validate(rule) for rule in given])


def name(found: Typing) -> str | None:
    return found.name if isinstance(found, Typed) else None


ALL = rules(
    {"key": "events/{team}/{name}/**", "type": "{team}.{name}"},
    {"key": "exports/{type}.json"},
    {"key": "exports/*", "type": "export"},
    {"attribute": "kind"},
    {"tag": "event-type"},
    {"type": "other"},
)


@pytest.mark.parametrize(
    ("key", "attributes", "tags", "expected"),
    [
        ("events/shop/orders/1.json", {}, None, "shop.orders"),
        ("exports/orders.json", {"kind": "x"}, None, "orders"),
        ("exports/orders.csv", {"kind": "x"}, None, "export"),
        ("z/1.json", {"kind": "clicks"}, None, "clicks"),
        ("z/1.json", {}, {"event-type": "returns"}, "returns"),
        ("z/1.json", {}, {"another": "x"}, "other"),
        ("z/1.json", {}, "the object is gone", "other"),
        ("z/1.json", {"kind": None}, {}, "other"),
        ("z/1.json", {"kind": "with space"}, {}, "other"),
    ],
)
def test_the_first_rule_that_matches_gives_the_type(key: str, attributes: Any, tags: Any, expected: str) -> None:
    assert name(ALL.find_type(key, attributes, tags)) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("events/shop/orders/1.json", "shop.orders"),
        ("exports/a b.json", "export"),
        ("exports/orders.csv", "export"),
        ("z/1.json", None),
    ],
)
def test_a_key_gives_a_type_unless_a_tag_or_an_attribute_might_have_given_another(
    key: str, expected: str | None
) -> None:
    assert ALL.find_type_of_key(key) == expected
    assert rules({"type": "other"}).find_type_of_key(key) == "other"
    assert rules({"attribute": "kind"}, {"key": "**", "type": "x"}).find_type_of_key(key) is None


def test_tags_are_asked_for_only_if_no_earlier_rule_matches() -> None:
    assert isinstance(ALL.find_type("z/1.json", {}), TagsNeeded)
    assert isinstance(ALL.find_type("z/1.json", {"kind": "x"}), Typed)


@pytest.mark.parametrize(
    ("key", "attributes", "tags", "why"),
    [
        ("z/1.json", {}, {}, "no rule of `event_types` matches it"),
        ("z/1.json", {"kind": None}, {}, "its attribute 'kind' is not text"),
        ("z/1.json", {}, "the object is gone", "its tags are not readable: the object is gone"),
        ("exports/a b.json", {}, {}, "the rule for keys like exports/{type}.json gives 'a b': use up to 256 letters"),
    ],
)
def test_an_event_without_a_type_says_why(key: str, attributes: Any, tags: Any, why: str) -> None:
    found = rules({"key": "exports/{type}.json"}, {"attribute": "kind"}, {"tag": "t"}).find_type(key, attributes, tags)
    assert isinstance(found, Untyped)
    assert why in found.why


def test_an_event_costs_the_same_however_many_rules_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    many = rules(*({"key": f"events/t{n}/**", "type": f"t{n}"} for n in range(4200)), {"type": "other"})
    tried: list[str] = []
    match = KeyPattern.match

    def counted(self: KeyPattern, key: str) -> Any:
        tried.append(self.text)
        return match(self, key)

    monkeypatch.setattr(KeyPattern, "match", counted)
    assert name(many.find_type("events/t4199/1.json", {})) == "t4199"
    assert len(tried) <= 3


def test_attributes_are_texts_however_the_message_came() -> None:
    attributes = {
        "sqs": {"DataType": "String", "StringValue": "a"},
        "custom": {"DataType": "String.kind", "StringValue": "b"},
        "sns": {"Type": "String", "Value": "c"},
        "number": {"DataType": "Number", "StringValue": "1"},
        "binary": {"Type": "Binary", "Value": "eA=="},
        "array": {"Type": "String.Array", "Value": "[]"},
        "broken": "x",
        **{f"more{n}": {"Type": "String", "Value": "x"} for n in range(300)},
    }
    names = ["sqs", "custom", "sns", "number", "binary", "broken", "missing"]
    assert text_attributes(attributes, names) == {
        "sqs": "a", "custom": "b", "sns": "c", "number": None, "binary": None, "broken": None,
    }  # fmt: skip
