"""Each error has one kind, so that a caller may catch by kind."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from tests.support.tracked import ROOT, tracked
from tidegate.platform.core.errors import ConfigurationError, DataError, TidegateError, UnavailableError

KINDS = {kind.__name__ for kind in (ConfigurationError, DataError, UnavailableError)}
_BUILT_IN = {"Exception", "RuntimeError", "ValueError", "OSError", "KeyError", "TypeError"}
#: Exceptions that no caller of a step or a command sees, and why.
WITHOUT = {
    "BadFileError": "the oracle of the demo runs in a Python without Tidegate",
    "Failed": "the result of a check, which becomes a finding",
    "NotForked": "the launcher starts the run another way",
    "TickOver": "ends the receiving of a tick, which stores what it has",
    "TooLarge": "the caller makes room for the object alone",
    "Warned": "the result of a check, which becomes a finding",
}


def classes(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the names of the bases of each class, by its name."""
    found: dict[str, set[str]] = {}
    for source in sources.values():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(ast.unparse(base).split(".")[-1] for base in node.bases)
    return found


def ancestors(name: str, bases: Mapping[str, set[str]]) -> set[str]:
    """Return the names of all that a class is derived from."""
    direct = bases.get(name, set())
    return direct.union(*(ancestors(each, bases) for each in direct if each != name))


def wrong(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the errors that have no kind or several, each with those that it has."""
    bases = classes(sources)
    found = {}
    for name in bases:
        above = ancestors(name, bases)
        is_error = bool(above & (_BUILT_IN | KINDS)) and name not in {*KINDS, TidegateError.__name__}
        if is_error and not name.startswith("_") and len(above & KINDS) != 1:
            found[name] = above & KINDS
    return found


def test_each_error_has_one_kind() -> None:
    folders = {"platform", "assets", "sensors", "resources"}
    sources = {
        str(path): path.read_text(encoding="utf-8")
        for path in tracked()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in folders
    }
    found = wrong(sources)
    denied = {name for name in found if name == "Denied"}  # a `Failed` of its own
    assert set(found) - denied == set(WITHOUT)


def test_an_error_without_a_kind_or_with_two_is_seen() -> None:
    source = "\n".join(
        (
            "class A(RuntimeError): ...",
            "class B(DataError, ValueError): ...",
            "class C(B): ...",
            "class D(B, UnavailableError): ...",
            "class E(A): ...",
            "class _F(ValueError): ...",
            "class G: ...",
        )
    )
    assert wrong({"a": source}) == {"A": set(), "D": {"DataError", "UnavailableError"}, "E": set()}


def test_an_error_is_still_of_its_built_in_class() -> None:
    from tidegate.platform.core.config.load import LakeConfigError
    from tidegate.platform.lake.spark.unreachable import SparkUnreachable

    assert LakeConfigError.__mro__.index(ConfigurationError) < LakeConfigError.__mro__.index(ValueError)
    assert SparkUnreachable.__mro__.index(UnavailableError) < SparkUnreachable.__mro__.index(RuntimeError)
