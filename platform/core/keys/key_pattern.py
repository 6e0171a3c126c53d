"""Patterns of object keys with named parts, such as `events/{type}/date={date}/**`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from tidegate.platform.core.errors import BadSetting

#: A part, `*`, or `**`.
_WILDCARD = re.compile(r"\{([^{}]*)\}|(\*+)")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class KeyPattern:
    """A pattern that a whole key matches or does not match.

    `{name}` is a part and matches at least one character, `*` matches any number of characters, and both match no `/`.
    `**` is the last segment and matches the rest of the key. Within a segment, a part or `*` ends where the text after
    it comes first; the last of a segment ends where the segment ends. So a key matches in one way only, and matching
    takes time in proportion to the key.
    """

    text: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a pattern.

        Raises:
            ValueError: the pattern is empty, repeats a part, or could match a key in two ways.
        """
        pattern = cls(text)
        pattern._check()
        return pattern

    @cached_property
    def literal(self) -> str:
        """The beginning of each key that matches: the pattern up to its first wildcard."""
        found = _WILDCARD.search(self.text)
        return self.text[: found.start()] if found else self.text

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts, in order."""
        return tuple(found[1] for found in _WILDCARD.finditer(self.text) if found[1] is not None)

    def match(self, key: str) -> dict[str, str] | None:
        """Return the text of each part, or None if the key does not match."""
        found = self._regex.fullmatch(key)
        return found.groupdict() if found else None

    def _check(self) -> None:
        if not self.text or self.text.startswith("/"):
            raise BadSetting(
                f"{self.text!r} is not a pattern of a key: a key does not begin with '/', and is not empty"
            )
        if left := re.search(r"[{}]", _WILDCARD.sub("", self.text)):
            raise BadSetting(f"{self.text!r} has a {left[0]!r} without its other half; a part is {{name}}")
        for name in self.parts:
            if not _NAME.fullmatch(name):
                raise BadSetting(f"{name!r} is not a name of a part: use lower-case letters, digits and underscores")
            if self.parts.count(name) > 1:
                raise BadSetting(f"the part {{{name}}} comes twice, so a key could have two values for it; rename one")
        *folders, last = self.text.split("/")
        for segment in (*folders, *([] if last == "**" else [last])):
            if "**" in segment:
                raise BadSetting(f"{self.text!r}: '**' is the rest of a key, so it must be the last segment, alone")
            if re.search(r"[}*][{*]", segment):
                raise BadSetting(
                    f"{segment!r}: nothing says where the first of two parts ends that follow each other; put a text "
                    "between them"
                )

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        *folders, last = self.text.split("/")
        tail = [".*"] if last == "**" else [_segment(last)]
        return re.compile("/".join([*(_segment(folder) for folder in folders), *tail]), re.DOTALL)


def _segment(segment: str) -> str:
    """Return the regular expression of a segment, without any way to go back into a wildcard that has ended."""
    return "".join(_steps(segment))


def _steps(segment: str) -> Iterator[str]:
    wildcards = list(_WILDCARD.finditer(segment))
    yield re.escape(segment[: wildcards[0].start()] if wildcards else segment)
    for place, found in enumerate(wildcards):
        more = place + 1 < len(wildcards)
        after = re.escape(segment[found.end() : wildcards[place + 1].start() if more else None])
        least = "*" if found[1] is None else "+"
        matched = f"[^/]{least}{'?' if more else ''}"
        group = matched if found[1] is None else f"(?P<{found[1]}>{matched})"
        yield f"(?>{group}{after})" if more else f"{group}{after}"
