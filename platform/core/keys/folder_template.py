"""The folder of an output with parts that rows fill in, such as `s3://out/{type}/date={at:date}/`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.keys.s3_address import S3Address

#: Pieces of a timestamp.
FORMS = ("date", "year", "month", "day", "hour")
#: The part for the type of the object's event, by `event_types` of `lake.yaml`.
EVENT_TYPE = "event:type"
_PART = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class FolderTemplate:
    """A folder with parts.

    `{name}` is the value of a field of the row, `{a.b}` that of field `b` of the object in field `a`, and `{name:date}`
    a piece of the timestamp in it. `{event:type}` is the event type of the object.
    """

    text: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a template.

        Raises:
            ValueError: the text is not a folder, or has a part that is none.
        """
        template = cls(text)
        template._check()
        return template

    @cached_property
    def bucket(self) -> str:
        """The bucket."""
        return S3Address.parse(self.text).bucket

    @cached_property
    def root(self) -> str:
        """The `s3://` folder that every object is below: the template up to the folder that has the first part."""
        return self.text.partition("{")[0].rpartition("/")[0] + "/"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What its parts name, without the pieces of timestamps."""
        return tuple(found[1].partition(":")[0] for found in _PART.finditer(self.text))

    @cached_property
    def typed(self) -> bool:
        """Whether the event type is a part of it."""
        return f"{{{EVENT_TYPE}}}" in self.text

    def layout(self, of_key: tuple[str, ...]) -> dict[str, Any]:
        """Return how the key of a row's folder is named (`FolderLayout` of platform/jvm).

        Args:
            of_key: names whose values come from the object's key instead of the row.
        """
        parts: list[dict[str, Any]] = []
        pieces = _PART.split(S3Address.parse(self.text).key)
        for place, piece in enumerate(pieces):
            if place % 2 == 0:
                parts += [{"text": piece}] if piece else []
                continue
            if piece == EVENT_TYPE:
                parts.append({"key": EVENT_TYPE})
                continue
            name, _, form = piece.partition(":")
            value: dict[str, Any] = {"key": name} if name in of_key else {"field": name.split(".")}
            parts.append({**value, "form": form} if form else value)
        return {"parts": parts}

    def _check(self) -> None:
        bucket, path = S3Address.parse(self.text)
        if "{" in bucket or "}" in bucket:
            raise BadSetting(f"the bucket of {self.text!r} has a part; only folders may have parts")
        if not path.endswith("/"):
            raise BadSetting(f'{self.text!r} is not a folder: it has a path, and ends with "/"')
        if "//" in path or path.startswith("/"):
            raise BadSetting("the path must not have an empty folder (//)")
        if left := re.search(r"[{}]", _PART.sub("", path)):
            raise BadSetting(f"{self.text!r} has a {left[0]!r} without its other half; a part is {{name}}")
        for found in _PART.finditer(path):
            name, colon, form = found[1].partition(":")
            if found[1] == EVENT_TYPE:
                continue
            if not all(name.split(".")):
                raise BadSetting(f"{{{found[1]}}} names no field: write {{name}}, or {{a.b}} for a field in an object")
            if colon and form not in FORMS:
                raise BadSetting(f"{{{found[1]}}}: {form!r} is not a piece of a timestamp ({', '.join(FORMS)})")
