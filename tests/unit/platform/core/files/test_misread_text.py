"""Text that was decoded by another encoding than its own."""

from __future__ import annotations

import re

import pytest

from tidegate.platform.core.files.misread_text import is_misread, misread_sql

READ_RIGHTLY = ["", "plain", "Größe", "“CAFÉ”", "CAFÉ…", "É", "naïve", "10 €", "Ångström", "São Paulo", "ß – ü"]
TEXTS = ["ä", "Größe", "naïve café", "日本語", "\ufeffArtikel", "10 €", "😀"]


ENCODINGS = ["iso8859-1", "cp1252", "iso8859-15"]


def matches(sql: str, text: str) -> bool:
    """Return whether a row of one text fulfils the condition. Python's regular expressions are Java's here."""
    wanted, unwanted = (
        re.sub(r"\\x\{([0-9A-F]+)\}", lambda found: re.escape(chr(int(found[1], 16))), each.replace("\\\\", "\\"))
        for each in re.findall(r"RLIKE '((?:[^'\\]|\\.)*)'", sql)
    )
    return bool(re.search(wanted, text)) and not re.search(unwanted, text)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", TEXTS)
def test_utf_8_that_was_read_byte_by_byte_is_found(text: str, encoding: str) -> None:
    misread = text.encode().decode(encoding, "ignore")
    lost = len(misread) < len(text.encode())
    assert matches(misread_sql(["a"], encoding), misread) or lost
    assert is_misread(misread) or lost or encoding == "iso8859-15"
    assert is_misread(f"{text}ä".encode()[:-1].decode("utf-8", "replace"))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", READ_RIGHTLY)
def test_text_that_is_read_rightly_is_not(text: str, encoding: str) -> None:
    assert not is_misread(text)
    assert not matches(misread_sql(["a"], encoding), text.encode(encoding, "ignore").decode(encoding))


def test_a_row_without_text_is_not_misread() -> None:
    assert misread_sql([], "cp1252") == "false"
