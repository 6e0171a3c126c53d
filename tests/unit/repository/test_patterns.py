"""No pattern of the code reads a text again and again: its work grows as the text does.

A producer chooses the length of its rows, names and messages. A pattern that starts again at each place of a text, and
reads to the end of it from there, takes hours for a row of a megabyte. `PatternsTest` of JUnit asks those of Java.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = ("assets", "platform", "resources", "sensors")
_METHODS = {"search", "match", "fullmatch", "sub", "split", "finditer", "findall"}
#: Characters of the shorter text, and how much longer the other one is.
_LENGTH, _TIMES = 3_000, 8
#: CPU seconds in which a text of that length is read, on any machine. Only patterns above it are compared.
_SOON = 0.003
#: Linear work is 8 times as much, quadratic work 64 times.
_MOST = 24
_OFTEN = " \na0\"'\\,"


@cache
def _modules() -> dict[Path, ast.Module]:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path: ast.parse(path.read_text()) for path in paths if "demo" not in path.parts}


def _calls(tree: ast.AST) -> Iterator[tuple[str, str, ast.Call]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                yield name, method, node


def _patterns() -> Iterator[tuple[str, re.Pattern[Any], set[str]]]:
    """Yield each pattern that a module has or that a call is given, with its place and the ways that it is used."""
    uses: dict[str, set[str]] = {}
    for tree in _modules().values():
        for name, method, _ in _calls(tree):
            uses.setdefault(name, set()).add(method)
    for path, tree in _modules().items():
        place = str(path.relative_to(ROOT))
        calls = [(method, call) for name, method, call in _calls(tree) if name == "re"]
        for method, call in calls:
            if method in _METHODS and isinstance(call.args[0], ast.Constant):
                yield f"{place}:{call.lineno}", re.compile(call.args[0].value), {method}
        if any(method == "compile" for method, _ in calls):
            module = importlib.import_module(".".join(("tidegate", *path.relative_to(ROOT).with_suffix("").parts)))
            for name, value in vars(module).items():
                for pattern in _within(value):
                    yield f"{place} {name}", pattern, (uses.get(name, set()) & _METHODS) or {"search"}


def _sql_patterns() -> Iterator[tuple[str, re.Pattern[Any], set[str]]]:
    """Yield each pattern of Java that SQL of the code has."""
    for path, tree in _modules().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.JoinedStr | ast.Constant):
                continue
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
            for pattern in re.findall(r"(?:regexp_\w+\([^']*|(?i:rlike)\s+r?)'([^']+)'", text):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", re.compile(pattern), {"search"}


def _within(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _within(part)


def _characters(parsed: Any) -> Iterator[int]:
    """Yield characters that the parts of a pattern match: each literal, and the first one of each range."""
    if isinstance(parsed, int):
        yield parsed
    elif isinstance(parsed, tuple) and len(parsed) == 2 and str(parsed[0]) in {"LITERAL", "RANGE", "NOT_LITERAL"}:
        yield parsed[1] if isinstance(parsed[1], int) else parsed[1][0]
    elif isinstance(parsed, tuple | list) or hasattr(parsed, "__getitem__"):
        for part in parsed:
            if not isinstance(part, int):
                yield from _characters(part)


def _texts(pattern: re.Pattern[Any], length: int) -> Iterator[Any]:
    """Yield texts that repeat one or two characters of a pattern, after a character that may begin a match."""
    characters = map(chr, sorted(set(_characters(parser.parse(pattern.pattern, pattern.flags)))))
    own = [char for char in characters if ord(char) < 128][:8]
    repeated = dict.fromkeys([*own, *_OFTEN])
    pairs = [first + second for first in own[:4] for second in repeated if first != second]
    for start in ("", *own[:1]):
        for part in [*repeated, *pairs]:
            text = start + part * (length // len(part)) + "\0"
            yield text if isinstance(pattern.pattern, str) else text.encode("latin-1")


def _cost(pattern: re.Pattern[Any], method: str, text: Any) -> float:
    """Return the CPU seconds of one use."""
    arguments = (text[:0], text) if method == "sub" else (text,)
    start = time.thread_time()
    found = getattr(pattern, method)(*arguments)
    if method == "finditer":
        for _ in found:
            pass
    return time.thread_time() - start


def superlinear(pattern: re.Pattern[Any], methods: Iterable[str]) -> str | None:
    """Return a way in which the work of a pattern grows faster than the text does; None without one."""
    for method in sorted(methods):
        for short, long in zip(_texts(pattern, _LENGTH), _texts(pattern, _LENGTH * _TIMES), strict=True):
            if _cost(pattern, method, short) > _SOON:
                least = min(_cost(pattern, method, short) for _ in range(3))
                # Twice: a collection of garbage counts to whichever use it meets.
                if least > _SOON / 2 and all(_cost(pattern, method, long) > _MOST * least for _ in range(2)):
                    return f"{method} of {short[:6]!r}…"
    return None


@pytest.mark.parametrize("pattern", [r"\s+;", r'"((?:[^"\\]|\\.)*+)"'])
def test_a_pattern_that_reads_a_text_from_each_place_is_found(pattern: str) -> None:
    assert superlinear(re.compile(pattern), ["findall"])


def test_the_work_of_each_pattern_grows_as_the_text_does() -> None:
    patterns = list(_patterns())
    assert len(patterns) > 100
    in_sql = list(_sql_patterns())
    assert in_sql
    patterns += in_sql
    found = [(place, way) for place, pattern, methods in patterns if (way := superlinear(pattern, methods))]
    assert not found, f"give these patterns possessive quantifiers, or read the text in one pass: {found}"
