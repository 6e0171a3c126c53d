"""Where the code of a mutant is: it is found by name, so that nothing here changes when a module moves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutants.mutant import Mutant

PACKAGES = ("platform", "assets", "sensors", "resources")
_JAVA = "platform/jvm/src/main/java"


class NotFound(LookupError):
    """The code that a mutant changes is not there, or there several times."""


@dataclass(frozen=True)
class Place:
    """A part of a file.

    Attributes:
        path: the file.
        start: first character of the part.
        end: after its last character.
    """

    path: Path
    start: int
    end: int


def mutated(mutant: Mutant, root: Path) -> tuple[Path, str]:
    """Return the file that a mutant changes, and its text with the mistake.

    Args:
        mutant: its `before` is once in one definition of its name.
        root: folder of the project.

    Raises:
        NotFound: it is not.
    """
    found = []
    for place in _definitions(root).get(mutant.function, ()):
        text = place.path.read_text(encoding="utf-8")
        part = text[place.start : place.end]
        if count := part.count(mutant.before):
            wrong = part.replace(mutant.before, mutant.after)
            found.append((place.path, count, f"{text[: place.start]}{wrong}{text[place.end :]}"))
    if [count for _, count, _ in found] != [1]:
        raise NotFound(
            f"{mutant.function} has {sum(count for _, count, _ in found)} times what {mutant.name!r} changes"
        )
    return found[0][0], found[0][2]


@cache
def _definitions(root: Path) -> dict[str, list[Place]]:
    """Return the places of functions, classes and constants of Python by qualified name, and of classes of Java."""
    found: dict[str, list[Place]] = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            lines = [0]
            for line in text.split("\n"):
                lines.append(lines[-1] + len(line) + 1)
            for name, first, last in _named(ast.parse(text), ""):
                found.setdefault(name, []).append(Place(path, lines[first - 1], lines[last]))
    for path in (root / _JAVA).rglob("*.java"):
        found.setdefault(path.stem, []).append(Place(path, 0, len(path.read_text(encoding="utf-8"))))
    return found


def _named(node: ast.AST, inside: str) -> Iterator[tuple[str, int, int]]:
    """Yield the qualified name of each definition with its first and last line, decorators included."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min(part.lineno for part in (inner, *inner.decorator_list))
            yield f"{inside}{inner.name}", first, inner.end_lineno or first
            yield from _named(inner, f"{inside}{inner.name}.")
        elif isinstance(inner, ast.Assign | ast.AnnAssign) and isinstance(node, ast.Module):
            targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
            for name in (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)):
                yield name, inner.lineno, inner.end_lineno or inner.lineno
        else:
            yield from _named(inner, inside)
