"""Files that are not text, whatever their names and the options of their table say."""

from __future__ import annotations

import re

from tidegate.platform.core.keys.file_format import FORMATS, FormatName

#: Control characters that no text has.
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_SHEETS = "save each sheet as CSV UTF-8"
#: First bytes, and what such a file is with what to do. From the specifications of each format.
_SIGNATURES = {
    b"PK\x03\x04": f"a ZIP archive, as a workbook of Excel (.xlsx) is; {_SHEETS}, or unpack it",
    b"PK\x05\x06": "an empty ZIP archive; write the file again",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": f"a workbook or document of Office before 2007 (.xls, .doc); {_SHEETS}",
    b"\x1f\x8b\x08": "gzip, and its name does not end in .gz; give it that ending, or unpack it",
    b"BZh91AY&SY": "packed by bzip2; write it plain, or as gzip with a name that ends in .gz",
    b"\xfd7zXZ\x00": "packed by xz; write it plain, or as gzip with a name that ends in .gz",
    b"\x28\xb5\x2f\xfd": "packed by Zstandard; write it plain, or as gzip with a name that ends in .gz",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive; unpack it",
    b"%PDF-": "a PDF; write its tables as CSV",
    b"SQLite format 3\x00": "a database of SQLite; write its tables as CSV or Parquet",
}
_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)


def binary_format(head: bytes) -> FormatName | None:
    """Return the format that is not text and whose files begin so. None if there is none.

    Args:
        head: the first bytes of a file.
    """
    for format in FORMATS.values():
        # A text may begin so, too: ORCID is a usual name of a CSV column.
        if format.magic and head.startswith(format.magic) and _NO_TEXT.search(head, 0, 64):
            return format.name
    return None


def explain_binary(head: bytes) -> str | None:
    """Return what a file is that cannot be CSV or JSON, with what to do. None if it may be one of them.

    Args:
        head: its first bytes, unpacked if its name says that it is packed.
    """
    for signature, what in _SIGNATURES.items():
        if head.startswith(signature):
            return f"it is {what}"
    if format := binary_format(head):
        name = "ORC" if format == "orc" else format.capitalize()
        return f"it is {name}; give it that ending, or the table `format: {format}`"
    if _HTML.match(head):
        return "it is a page of HTML, perhaps an error of the server that it came from; write the data itself"
    return None
