"""How CSV files are written, where they are not as RFC 4180 says."""

from __future__ import annotations

import codecs
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from tidegate.platform.core.lake_fields import Model


def _checked_encoding(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise ValueError(f"{name!r} is no encoding, such as utf-8, windows-1252 or utf-16") from None


OneCharacter = Annotated[str, StringConstraints(min_length=1, max_length=1)]
Encoding = Annotated[str, AfterValidator(_checked_encoding)]


class CsvOptions(Model):
    """How a table's CSV files are written."""

    delimiter: OneCharacter = ","
    """Character between two cells; a tab is written "\\t"."""
    quote: OneCharacter = '"'
    """Character around a cell that holds delimiters or line ends; doubled, it stands for itself."""
    encoding: Encoding = "utf-8"
    """Encoding of the text."""
    header: bool = True
    """Whether the first line names the columns; without, they are called `_c0`, `_c1`, …"""
    nulls: tuple[str, ...] = ()
    """Texts that mean null, beside an empty cell without quotes."""
    decimal: Annotated[str, Field(pattern=r"^[.,]$")] = "."
    """Character before the decimals of a number."""
    comment: OneCharacter | None = None
    """Lines that begin with this character are passed over."""
    skip: Annotated[int, Field(ge=0)] = 0
    """Lines before the header that are passed over."""
