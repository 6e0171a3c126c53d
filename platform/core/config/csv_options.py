"""How CSV files differ from RFC 4180."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from tidegate.platform.core.config.fields import Model
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.files.utf_16 import is_utf_16


def _checked_encoding(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise BadSetting(f"{name!r} is not an encoding, such as utf-8, windows-1252 or utf-16") from None


#: Bytes that begin a character of UTF-8.
_UTF_8_LEAD_BYTES = bytes(range(0xC2, 0xF5))
#: Texts for missing values: of R, databases and spreadsheets.
USUAL_NULLS = ("NA", "NULL", "null", "\\N", "N/A")

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
    """Whether the first line names the columns. Otherwise they are named `_c0`, `_c1`, …"""
    nulls: tuple[str, ...] = ()
    """Texts that mean null, in addition to an empty cell without quotes."""
    decimal: Annotated[str, Field(pattern=r"^[.,]$")] = "."
    """Character before the decimals of a number."""
    comment: OneCharacter | None = None
    """Lines that begin with this character are skipped."""
    skip: Annotated[int, Field(ge=0)] = 0
    """Number of lines before the header that are skipped."""

    @property
    def codec(self) -> str:
        """Python's codec of the text: a byte order mark is not part of the text."""
        return "utf-8-sig" if self.encoding == "utf-8" else self.encoding

    @property
    def may_misread(self) -> bool:
        """Whether the encoding reads any bytes as text, one by one, also those of UTF-8."""
        return len(_UTF_8_LEAD_BYTES.decode(self.encoding, "ignore")) == len(_UTF_8_LEAD_BYTES)

    def choose_options(self, head: bytes) -> CsvOptions:
        """Return the options of a file that begins with these bytes: a byte order mark is proof of its encoding.

        A file of UTF-16 in a table of UTF-8 cannot be read, and is refused with the option that it needs.
        """
        if head.startswith(codecs.BOM_UTF8):
            return self.model_copy(update={"encoding": "utf-8"})
        if is_utf_16(head) and self.may_misread:
            return self.model_copy(update={"encoding": "utf-16"})
        return self

    def rows(
        self, lines: Iterable[str], *, strict: bool = False, see: Callable[[str, bool], None] = lambda *_: None
    ) -> Iterator[list[str]]:
        """Yield the rows of a file, without skipped lines. The lines come with their line ends.

        A line is a comment only where a row may begin: within quotes it is a part of a cell.

        Args:
            lines: the file's lines, from its first on.
            strict: whether broken quoting is an error, when the rows are read.
            see: is called with each line of a row before it becomes cells, and whether a row begins in it. If none
                does, it begins within a quoted cell. What it raises ends the work.
        """
        begins = True

        def kept_lines() -> Iterator[str]:
            nonlocal begins
            for line in islice(lines, self.skip, None):
                if begins and self.comment is not None and line.startswith(self.comment):
                    continue
                see(line, begins)
                begins = False
                yield line

        for row in csv.reader(kept_lines(), delimiter=self.delimiter, quotechar=self.quote, strict=strict):
            yield row
            begins = True
