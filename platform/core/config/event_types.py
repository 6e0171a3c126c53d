"""Rules in `lake.yaml` that give an event its type."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from tidegate.platform.core.config.fields import Model, Pattern, Text
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.keys.key_pattern import KeyPattern

#: Name of an event type: it is an attribute of SNS, a tag's value and a folder's name, so it has what all of them take.
TYPE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+=-]{0,255}")
_PART = re.compile(r"\{([^{}]*)\}")


def _checked_attribute(name: str) -> str:
    if not re.fullmatch(r"(?!AWS\.|Amazon\.)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", name) or len(name) > 256:
        raise BadSetting(
            f"{name!r} is not a name of a message attribute: use letters, digits, '_', '-' and single dots"
        )
    return name


AttributeName = Annotated[Text, AfterValidator(_checked_attribute)]


class EventTypeRule(Model):
    """One rule. It has at most one of `key`, `tag` and `attribute`; a rule with none of them is the last."""

    key: Pattern | None = None
    """A pattern of the object's key: `{name}` is a part without `/`, `*` any text without `/`, and `**` at the end is
    the rest of the key. The part `{type}` is the event type, unless `type` says otherwise."""
    tag: Annotated[Text | None, Field(max_length=128)] = None
    """Key of an object tag. Its value is the event type. Each event costs one request to S3."""
    attribute: AttributeName | None = None
    """Name of a message attribute of SQS or SNS. Its text is the event type."""
    type: Text | None = None
    """The event type. It may contain parts of `key`, such as `{team}.{name}`."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if sum(given is not None for given in (self.key, self.tag, self.attribute)) > 1:
            raise BadSetting("give one of key, tag and attribute; a second way is a rule of its own")
        if self.tag or self.attribute:
            if self.type:
                raise BadSetting("the value of the tag or attribute is the event type; remove `type`")
            return self
        parts = KeyPattern(self.key).parts if self.key else ()
        if self.type is None:
            if "type" not in parts:
                raise BadSetting(
                    "nothing says the event type: give `type`, or a part {type} in `key`"
                    if self.key
                    else "give one of key, tag and attribute, or the `type` of the events that no rule before matches"
                )
            return self
        for name in _PART.findall(self.type):
            if name not in parts:
                where = f"its parts: {', '.join(parts) or 'none'}" if self.key else "a rule without `key` has no parts"
                raise BadSetting(f"`type` has {{{name}}}, which is not part of `key` ({where})")
        if not TYPE_NAME.fullmatch(_PART.sub("x", self.type)):
            raise BadSetting(f"{self.type!r} is not an event type: {TYPE_RULE}")
        return self

    @property
    def is_last(self) -> bool:
        """Whether the rule matches every event."""
        return self.key is None and self.tag is None and self.attribute is None


#: What an event type may be, as part of a sentence.
TYPE_RULE = "use up to 256 letters, digits and . _ : @ + = -, beginning with a letter or digit"
