"""Texts of others in a line: nothing in them controls a terminal, turns the text around it, or hides."""

from __future__ import annotations

import json
import sys
import unicodedata

import yaml

from tidegate.platform.core.first_line import first_line, one_line, visible, visible_json

#: Marks of scripts that are seen, and joiners that scripts and emoji need.
SEEN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440)}
JOINERS = {0x200C, 0x200D}


def test_every_character_that_controls_or_hides_is_written_out() -> None:
    """So is what YAML refuses, because comments of `lake.yaml` have such texts."""
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and point not in SEEN | JOINERS
        written = one_line(character)
        if hidden or 0xE0000 <= point < 0xE0080 or yaml.reader.Reader.NON_PRINTABLE.match(character):
            assert (written[0], written.isascii()) == ("\\", True), hex(point)
        else:
            assert written == character or unicodedata.category(character) == "Cn", hex(point)


def test_the_first_line_of_an_error_has_none_either() -> None:
    assert first_line(ValueError("\x1b[2Jgone \u202eback\nsecond")) == "\\x1b[2Jgone \\u202eback"
    assert first_line(ValueError()) == "ValueError"
    assert visible("a\x1b\nb") == "a\\x1b\nb"


def test_json_stays_json_with_every_character() -> None:
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]))
    text = visible_json(json.dumps({"every": every}, ensure_ascii=False, indent=2))
    assert json.loads(text) == {"every": every}
    assert one_line(text.replace("\n", "")) == text.replace("\n", "")
