"""Each error has one kind, so that a caller may catch by kind."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping

from tests.support.tracked import ROOT, tracked
from tidegate.platform.core.errors import ConfigurationError, DataError, TidegateError, UnavailableError

KINDS = {kind.__name__ for kind in (ConfigurationError, DataError, UnavailableError)}
_BUILT_IN = {name for name, each in vars(builtins).items() if isinstance(each, type) and issubclass(each, Exception)}
#: Exceptions that no caller of a step or a command sees, and why.
WITHOUT = {
    "BadFileError": "the oracle of the demo runs in a Python without Tidegate",
    "Denied": "the result of a check, which becomes a finding",
    "Failed": "the result of a check, which becomes a finding",
    "NotForked": "the launcher starts the run another way",
    "SourceMissingError": "the producers of the demo know nothing of Tidegate",
    "TickOver": "ends the receiving of a tick, which stores what it has",
    "TooDeep": "each caller says it of its own document",
    "TooLarge": "the caller makes room for the object alone",
    "Warned": "the result of a check, which becomes a finding",
}


def classes(sources: Mapping[str, str]) -> Iterator[tuple[str, set[str]]]:
    """Yield the name of each class, with the names of its bases."""
    for source in sources.values():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                yield node.name, {ast.unparse(base).split(".")[-1] for base in node.bases}


def ancestors(direct: set[str], bases: Mapping[str, set[str]]) -> set[str]:
    """Return the names of all that a class with these bases is derived from."""
    return direct.union(*(ancestors(bases[each] - {each}, bases) for each in direct if each in bases))


def wrong(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the errors that have no kind or several, each with those that it has."""
    every = list(classes(sources))
    bases: dict[str, set[str]] = {}
    for name, direct in every:
        bases.setdefault(name, set()).update(direct)
    found = {}
    for name, direct in every:
        above = ancestors(direct, bases)
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
    assert set(wrong(sources)) == set(WITHOUT)


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
            "class B(RuntimeError): ...",
        )
    )
    assert wrong({"a": source}) == {"A": set(), "D": {"DataError", "UnavailableError"}, "E": set(), "B": set()}


def test_an_error_is_still_of_its_built_in_class() -> None:
    from tidegate.platform.core.config.load import LakeConfigError
    from tidegate.platform.lake.spark.unreachable import SparkUnreachable

    assert LakeConfigError.__mro__.index(ConfigurationError) < LakeConfigError.__mro__.index(ValueError)
    assert SparkUnreachable.__mro__.index(UnavailableError) < SparkUnreachable.__mro__.index(RuntimeError)
