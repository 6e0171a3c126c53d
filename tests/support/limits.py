"""The page of limits, from the tests that assert them. `make limits` writes it.

A test that asserts a refusal which a user meets as a limit has the mark `@pytest.mark.limit(part, sentence)`. The
sentence is next to what proves it, and goes when that goes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tests.support.tracked import ROOT, tracked

#: The parts of the page, in their order.
PARTS = ("Files", "Columns and types", "Tables", "Silver", "Outputs", "Events and AWS", "Personal data")
_MARK = "pytest.mark.limit"
_HEAD = """\
# Limits of version 0.1

Version 0.1 has the whole path from an event to a silver table. It has run on [local
servers](../operate/endpoints.md) only, and [`tidegate prove`](../start/prove.md) shows what holds in your account.
[When not to use it](../start/when-not.md) says what Tidegate is not for.

Each limit below is a refusal, with an error or a reason in the quarantine that says what to do. The link after it
leads to the test that asserts it. `make limits` writes this page from the marks of these tests.
"""
_TAIL = """
## Not refused, and missing

No test can assert what is not there:

- Objects that were staged for a batch of an output that was never decided stay until its next batch, and copies in
  `_tidegate/` of registered tables stay after their file was removed.
- ARNs that `tidegate policy` prints are of the partition of the region in the URL of the first queue with one. In China
  and GovCloud, give `url` to a queue: with names alone, the ARNs are of `arn:aws:`. A lake without any
  queue has `arn:aws:` there, too: take the roles of `tidegate stack`.
"""


class Limit(NamedTuple):
    """A sentence and the test that asserts it.

    Attributes:
        path: the test's file, from the root of the repository.
    """

    part: str
    sentence: str
    path: str
    test: str


def limits() -> Iterator[Limit]:
    """Yield the limits of all tests, by file and line.

    Raises:
        ValueError: a mark has not a part of the page and a sentence.
    """
    for path in sorted(tracked()):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("tests/") or not path.name.startswith("test_") or path.suffix != ".py":
            continue
        source = path.read_text(encoding="utf-8")
        if _MARK not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == _MARK:
                    yield _limit(mark, name, getattr(node, "name", ""))


def page() -> str:
    """Return the text of docs/reference/limits.md."""
    found = list(limits())
    text = _HEAD
    for part in PARTS:
        if own := [limit for limit in found if limit.part == part]:
            text += f"\n## {part}\n\n"
            text += "".join(f"- {limit.sentence} ([test](../../{limit.path}))\n" for limit in own)
    return text + _TAIL


def _limit(mark: ast.Call, path: str, test: str) -> Limit:
    given = [argument.value for argument in mark.args if isinstance(argument, ast.Constant)]
    match given:
        case [str(part), str(sentence)] if part in PARTS and sentence.endswith("."):
            return Limit(part, sentence, path, test)
    raise ValueError(f"{path}::{test}: `limit` takes a part of the page ({', '.join(PARTS)}) and a sentence")


if __name__ == "__main__":
    print(page(), end="")
