"""A producer's text has no effect on a terminal, nor on a line of a log."""

from __future__ import annotations

import io

import pytest
from rich.table import Table
from rich.text import Text

from tidegate.platform.cli.check.findings import Finding, show
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.terminal import Terminal, command_console
from tidegate.platform.core.wording import one_line, show_controls

HOSTILE = "\x1b]0;owned\x1b[2J\x9b1m\u202eevil"


@pytest.fixture
def terminal() -> Terminal:
    return Terminal(file=io.StringIO(), force_terminal=True, width=120, color_system="standard")


def printed(terminal: Terminal) -> str:
    assert isinstance(terminal.file, io.StringIO)
    return terminal.file.getvalue()


def test_control_characters_are_written_out_and_styles_stay(terminal: Terminal) -> None:
    table = Table()
    table.add_column("key")
    table.add_row(Text(show_controls(HOSTILE)))
    table.add_row(Text(HOSTILE))
    for text in (HOSTILE, Text(HOSTILE, style="bold red"), table):
        terminal.print(text, markup=False, highlight=False)
    said = printed(terminal)
    for character in "\x9b\u202e":
        assert character not in said
    assert "\x1b[2J" not in said
    assert said.count(r"\x1b]0;owned\x1b[2J\x9b1m\u202eevil") == 4
    assert "\x1b[1;31m" in said, "a style of ours"


def test_a_finding_is_one_line(terminal: Terminal) -> None:
    show(terminal, Finding(Check.LOG_ENTRIES, "object a\nok     queue", False, f"first\r\nok     all {HOSTILE}"))
    assert printed(terminal).count("\n") == 1
    assert r"object a\nok     queue" in printed(terminal)


@pytest.mark.parametrize("text", ["Grüße, 日本\u3000語\u00a0!", "می\u200cخواهم", "👩\u200d🔧", ""])
def test_what_people_write_stays(text: str) -> None:
    assert one_line(text) == show_controls(text) == text


def test_line_ends_stay_where_a_text_has_lines() -> None:
    assert show_controls("a\nb\r\tc\u2028") == "a\nb\\r\\tc\\u2028"
    assert one_line("a\nb\ud800") == "a\\nb\\ud800"


def test_in_a_pipe_no_line_ends_by_itself_and_no_cell_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """Programs read a line for each event, and a person copies a command."""
    words, name = "word " * 100, "a" * 300
    table = Table()
    table.add_column("name", no_wrap=True)
    table.add_row(name)
    command_console().print(Text(words))
    command_console().print(table)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.rstrip() == words.rstrip()
    assert len(lines) == 5
    assert name in lines[3]
