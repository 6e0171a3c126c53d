"""A command that is copied into a shell gets its words as they are."""

from __future__ import annotations

import ast
import os
import pty
import re
import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tidegate.platform.core.shell import command
from tidegate.platform.operations.object_trace import redrive_of
from tidegate.platform.operations.redrive import Choice

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
    "birth.name", "f'{name} ' if name else ''", "home", "name", "option", "role", "route", "spec.name", "table", "what",
}  # fmt: skip


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
