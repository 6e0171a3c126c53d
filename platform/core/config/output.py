"""The output of a table whose rows become objects of lines, by values in them."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tidegate.platform.core.config.fields import Bucket, Model, Text, valid
from tidegate.platform.core.config.forwarding.event_types import Pattern
from tidegate.platform.core.keys.folder_template import FolderTemplate
from tidegate.platform.core.keys.key_pattern import KeyPattern


def _checked_template(text: str) -> str:
    template = FolderTemplate.parse(text)
    if valid(Bucket, template.bucket) is None:
        raise ValueError(f"{template.bucket!r} is not a bucket name")
    return text


Template = Annotated[Text, AfterValidator(_checked_template)]


class OutputSpec(Model):
    """Where the rows go, and how the objects are written."""

    folder: Template
    """`s3://bucket/folder/` of a row's object. `{name}` is the value of a field of the row, `{a.b}` that of a field
    inside an object, and `{name:date}` a piece of a timestamp in UTC: `date`, `year`, `month`, `day` or `hour`.
    `{event:type}` is the event type of the source object, by `event_types`."""
    key: Pattern | None = None
    """A pattern of the source objects' keys, as in `event_types`. Its parts can be used in `folder`."""
    compression: Literal["gzip", "zstd"] = "gzip"
    """How the objects are compressed."""
    object_bytes: Annotated[int, Field(ge=1, le=1 << 30)] = 128 << 20
    """Compressed bytes at which an object is full. The next rows of its folder begin another object."""

    @model_validator(mode="after")
    def _uses_the_key(self) -> Self:
        if self.pattern and not set(self.pattern.parts) & set(self.template.names):
            raise ValueError("no part of `key` is in `folder`; use one there, or remove `key`")
        return self

    @cached_property
    def template(self) -> FolderTemplate:
        """The folder with its parts."""
        return FolderTemplate(self.folder)

    @cached_property
    def pattern(self) -> KeyPattern | None:
        """The pattern of `key`."""
        return KeyPattern(self.key) if self.key else None
