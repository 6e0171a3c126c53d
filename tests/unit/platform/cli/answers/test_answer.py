"""What a command prints with --json is JSON, whatever a producer wrote, and nothing in it controls a terminal."""

from __future__ import annotations

import io
import json
import sys

import pytest

from tidegate.platform.cli.answers.answer import Answer, print_answer
from tidegate.platform.cli.terminal import Terminal


class TextAnswer(Answer):
    """An answer with a text of a producer."""

    text: str
    """The text."""


@pytest.mark.parametrize("lines", [False, True])
def test_every_character_comes_back_by_a_parser(lines: bool) -> None:
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]))
    console = Terminal(file=io.StringIO(), width=80)
    print_answer(console, TextAnswer(text=every), lines=lines)
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    assert json.loads(printed) == {"text": every}
    assert not set(printed.replace("\n", "")) & {*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u202e"}
