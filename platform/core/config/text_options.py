"""How the lines of a table's text files become rows, and which part of a JSON object has its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, model_validator

from tidegate.platform.core.config.fields import Model, Text
from tidegate.platform.core.errors import BadSetting, Misfit
from tidegate.platform.core.files.line_pattern import LinePattern, parse_line_pattern
from tidegate.platform.core.files.text_presets import PRESETS, PresetName, TextPreset
from tidegate.platform.core.schema.names import SOURCE_COLUMNS, check_columns

#: Of AWS, a field without a value.
_NO_VALUE = "-"


def _checked_pattern(text: str) -> str:
    try:
        check_columns(parse_line_pattern(text).names, ours=SOURCE_COLUMNS, reserved=())
    except Misfit as misfit:
        raise BadSetting(str(misfit)) from None
    return text


class TextOptions(Model):
    """How the lines of a table's text files become rows."""

    preset: PresetName | None = None
    """A log of AWS, whose columns and types are known. Either this or `pattern`."""
    pattern: Annotated[Text, AfterValidator(_checked_pattern)] | None = None
    """Regular expression of a whole line, whose named groups `(?P<name>…)` are the columns. A line that it does not
    match is a bad row."""
    nulls: tuple[str, ...] = ()
    """Texts that mean null, in addition to nothing; in a preset also `-`."""

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if (self.preset is None) == (self.pattern is None):
            raise BadSetting("give `preset`, a log of AWS, or `pattern`, a regular expression of a line")
        return self

    @property
    def _preset(self) -> TextPreset | None:
        return PRESETS[self.preset] if self.preset else None

    def names(self, head: bytes) -> tuple[str, ...]:
        """Return the columns of a file that begins with some bytes.

        Raises:
            Misfit: the header of its preset is missing.
        """
        return self._preset.names(head) if self._preset else self.lines(()).names

    def lines(self, names: tuple[str, ...]) -> LinePattern:
        """Return the pattern of the lines of files with these columns."""
        return self._preset.pattern(names) if self._preset else parse_line_pattern(self.pattern or "")

    @property
    def types(self) -> Mapping[str, str]:
        """The types of columns that are not text."""
        return self._preset.types if self._preset else {}

    @property
    def null_texts(self) -> tuple[str, ...]:
        """Texts that mean null."""
        return (*self.nulls, _NO_VALUE) if self._preset else self.nulls

    @property
    def comment(self) -> str | None:
        """What begins a line without values."""
        return self._preset.comment if self._preset else None

    @property
    def skips_first(self) -> bool:
        """Whether the first line of each file is a header."""
        return self._preset is not None and self._preset.skips_first


class JsonOptions(Model):
    """Where a table's JSON files have their rows."""

    records: Text | None = None
    """Name of the array, in the one object that a file is, whose elements are the rows: `Records` of CloudTrail."""
