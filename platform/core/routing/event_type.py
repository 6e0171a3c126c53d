"""The type of an event: which rule of `lake.yaml` gives it, or why none does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidegate.platform.core.config.event_types import TYPE_NAME, TYPE_RULE, EventTypeRule
from tidegate.platform.core.events.envelopes import format_value
from tidegate.platform.core.keys.key_pattern import KeyPattern
from tidegate.platform.core.wording import first_line


@dataclass(frozen=True, slots=True)
class Typed:
    """The event has a type.

    Attributes:
        name: the type.
        why: the rule that gave it, as a sentence.
    """

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Untyped:
    """The event has no type. `why` says so in a sentence."""

    why: str


@dataclass(frozen=True, slots=True)
class TagsNeeded:
    """The type depends on the object's tags, which are not known yet."""


Typing = Typed | Untyped | TagsNeeded


class EventTypes:
    """The rules of a lake.

    A rule for keys is tried only for keys with its literal beginning, so the time that an event takes depends on the
    number of different lengths of these beginnings, not on the number of rules.

    Args:
        rules: in the order of `lake.yaml`. The first rule that matches gives the type.
    """

    def __init__(self, rules: Sequence[EventTypeRule]) -> None:
        self._rules = rules
        self._patterns = {place: KeyPattern(rule.key) for place, rule in enumerate(rules) if rule.key}
        self._by_literal: dict[str, list[int]] = {}
        for place, pattern in self._patterns.items():
            self._by_literal.setdefault(pattern.literal, []).append(place)
        self._lengths = sorted({len(literal) for literal in self._by_literal})
        self._others = [place for place, rule in enumerate(rules) if not rule.key]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the message attributes that rules read."""
        return tuple(dict.fromkeys(rule.attribute for rule in self._rules if rule.attribute))

    def find_type(
        self, key: str, attributes: Mapping[str, str | None], tags: Mapping[str, str] | str | None = None
    ) -> Typing:
        """Return the type of an event.

        Args:
            key: decoded key of the object.
            attributes: text attributes of the message; None is an attribute that is not text.
            tags: tags of the object, or a sentence why S3 gives none. None: S3 was not asked yet.
        """
        if not self._rules:
            return Untyped("lake.yaml has no `event_types`")
        missed: list[str] = []
        for rule, parts in self._candidates(key):
            if rule.tag and tags is None:
                return TagsNeeded()
            found = _apply(rule, parts, attributes, tags or {})
            if isinstance(found, str) and TYPE_NAME.fullmatch(found):
                return Typed(found, _explain_rule(rule))
            if found is not None:
                missed.append(
                    f"{_explain_rule(rule)} gives {format_value(found)}: {TYPE_RULE}"
                    if isinstance(found, str)
                    else found.why
                )
        return Untyped("; ".join(["no rule of `event_types` matches it", *missed]))

    def find_type_of_key(self, key: str) -> str | None:
        """Return the type of an object that no message announced. None if its key alone does not decide the type.

        So it is if a rule that reads a tag or an attribute comes before the rule that matches the key: an event of the
        object may have another type.
        """
        for rule, parts in self._candidates(key):
            if rule.tag or rule.attribute:
                return None
            found = _apply(rule, parts, {}, {})
            if isinstance(found, str) and TYPE_NAME.fullmatch(found):
                return found
        return None

    def _candidates(self, key: str) -> Iterator[tuple[EventTypeRule, Mapping[str, str]]]:
        """Yield the rules that the key does not exclude, in their order, with the parts of the key."""
        parts: dict[int, Mapping[str, str]] = {place: {} for place in self._others}
        for length in self._lengths:
            for place in self._by_literal.get(key[:length], ()) if length <= len(key) else ():
                matched = self._patterns[place].match(key)
                if matched is not None:
                    parts[place] = matched
        for place in sorted(parts):
            yield self._rules[place], parts[place]


def _apply(
    rule: EventTypeRule,
    parts: Mapping[str, str],
    attributes: Mapping[str, str | None],
    tags: Mapping[str, str] | str,
) -> str | Untyped | None:
    """Return the type that a rule gives, a reason why it cannot, or None if it does not match."""
    if rule.attribute:
        if rule.attribute not in attributes:
            return None
        text = attributes[rule.attribute]
        return Untyped(f"its attribute {rule.attribute!r} is not text") if text is None else text
    if rule.tag:
        return Untyped(f"its tags are not readable: {tags}") if isinstance(tags, str) else tags.get(rule.tag)
    return parts["type"] if rule.type is None else rule.type.format_map(parts)


def tags_refused(error: str) -> str:
    """Return the sentence about an event whose type is unknown because S3 refuses the tags of its object.

    Args:
        error: what S3 says.
    """
    return (
        f"the type of an event depends on the tags of its object, and S3 refuses them: {first_line(error)}; allow "
        "`s3:GetObjectTagging` (`tidegate policy dagster`)"
    )


def text_attributes(attributes: Mapping[str, object], names: Iterable[str]) -> dict[str, str | None]:
    """Return the texts of some attributes of a message; None for an attribute that is not text.

    Args:
        attributes: as SQS gives them (`DataType`, `StringValue`) or as an SNS envelope has them (`Type`, `Value`).
        names: the attributes to return, where they exist.
    """
    found: dict[str, str | None] = {}
    for name in names:
        if name not in attributes:
            continue
        value = attributes[name]
        members = value if isinstance(value, Mapping) else {}
        kind = members.get("DataType", members.get("Type"))
        text = members.get("StringValue", members.get("Value"))
        is_text = isinstance(kind, str) and kind.partition(".")[0] == "String" and isinstance(text, str)
        found[name] = str(text) if is_text else None
    return found


def _explain_rule(rule: EventTypeRule) -> str:
    if rule.key:
        return f"the rule for keys like {rule.key}"
    if rule.tag:
        return f"its tag {rule.tag!r}"
    if rule.attribute:
        return f"its attribute {rule.attribute!r}"
    return "the last rule, for every event that no other matches"
