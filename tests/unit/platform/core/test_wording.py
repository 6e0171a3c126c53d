"""Texts of others in a line: nothing in them controls a terminal, turns the text around it, or hides."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from tidegate.platform.core.wording import (
    command,
    first_line,
    first_texts,
    number_of,
    one_line,
    show_controls,
    visible_json,
)
from tidegate.platform.operations.object_trace import redrive_of
from tidegate.platform.operations.redrive import Choice

#: Marks of scripts that are seen, and joiners that scripts and emoji need.
SEEN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440)}
JOINERS = {0x200C, 0x200D}

ROOT = Path(__file__).resolve().parents[4]
WORDS = (
    r"""SELECT `order_id`, '$HOME', "\n" FROM silver.orders WHERE `a.b` = CAST('1' AS bigint)""",
    "'; touch pwned; #!#:gs/(/_/:gs/)/_/",
    "x';touch pwned;'.json",
    '!! !$ !# ^a^b^ !"',
    "a\n; touch pwned",
)
#: A command in a text: until what cannot be part of it.
_COMMAND = re.compile(r"tidegate [a-z][^`.,;()]*")
#: What the grammar of lake.yaml bounds to letters that no shell knows, and the user's own folder.
PLAIN = {
    "birth.name", "f'{name} ' if name else ''", "home", "name", "option", "role", "route", "self.names.id",
    "spec.name", "table", "what",
}  # fmt: skip


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
    assert show_controls("a\x1b\nb") == "a\\x1b\nb"


def test_json_stays_json_with_every_character() -> None:
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]))
    text = visible_json(json.dumps({"every": every}, ensure_ascii=False, indent=2))
    assert json.loads(text) == {"every": every}
    assert one_line(text.replace("\n", "")) == text.replace("\n", "")


def test_texts_that_are_left_out_are_counted() -> None:
    assert first_texts(["a", "b"], 2) == ["a", "b"]
    assert first_texts(["a", "b", "c"], 2) == ["a", "b", "and 1 more"]
    assert first_texts(["a", "b"], 2, 1002) == ["a", "b", "and 1,000 more"]
    assert first_texts([], 2) == []


@pytest.mark.parametrize(("count", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (12345, "12,345 rows")])
def test_a_number_has_its_noun(count: int, text: str) -> None:
    assert number_of(count, "row") == text


@pytest.mark.parametrize("word", WORDS)
def test_an_interactive_shell_passes_each_word_as_it_is(word: str, tmp_path: Path) -> None:
    """Only an interactive one replaces `!`, which is why a pseudo-terminal is needed."""
    script = tmp_path / "tidegate"
    script.write_text('#!/bin/sh\nprintf "%s" "$2" > got\n')
    script.chmod(0o755)
    main, other = pty.openpty()
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    with subprocess.Popen(
        ["bash", "--norc", "-i"],
        stdin=other,
        stdout=other,
        stderr=other,
        cwd=tmp_path,
        env=environ,
        start_new_session=True,
    ) as shell:
        try:
            os.write(main, f"{command('sql', word)}\nexit\n".encode())
            shell.wait(20)
        finally:
            shell.kill()
            os.close(main)
            os.close(other)
    assert (tmp_path / "got").read_text() == word
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("key", ["orders/[1].json", "a*.json", "what?.json", *WORDS])
def test_the_key_of_a_redrive_is_that_object_alone(key: str) -> None:
    words = shlex.split(redrive_of("landing.orders", key))
    assert words[:4] == ["tidegate", "redrive", "landing.orders", "--key"]
    assert Choice(key=words[4]).includes(key, "", datetime.now(UTC))
    assert not Choice(key=words[4]).includes("orders/1.json", "", datetime.now(UTC))


def test_no_other_code_writes_a_text_of_others_into_a_command() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for folder in ("platform", "assets", "sensors", "resources")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name in _written(path.read_text())
    ]
    assert not found
    assert _written("""f"then: tidegate redrive {name} --key '{key}' --yes; {why}\"""") == ["key"]
    assert _written("""f"`tidegate trace {uri}`, or {what}\"""") == ["uri"]


def _written(code: str) -> list[str]:
    """Return what is written into commands by f-strings of some code, without what is plain."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.JoinedStr):
            names = [ast.unparse(part.value) for part in node.values if isinstance(part, ast.FormattedValue)]
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
            for line in _COMMAND.finditer(text):
                before = text.count("\0", 0, line.start())
                found += names[before : before + line[0].count("\0")]
    return [name for name in found if name not in PLAIN]
