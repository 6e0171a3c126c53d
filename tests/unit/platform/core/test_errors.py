"""Each error has one kind, so that a caller may catch by kind."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping

from tests.support.tracked import ROOT, tracked
from tidegate.platform.core.config.load import LakeConfigError
from tidegate.platform.core.errors import (
    BadSetting,
    BadValue,
    ConfigurationError,
    DataError,
    TidegateError,
    UnavailableError,
)

PRODUCT = ("platform", "assets", "sensors", "resources", "tidegate")
#: Classes of Python that do not say the kind. An AssertionError or a TypeError says that Tidegate is wrong.
BARE = {"BaseException", "Exception", "OSError", "RuntimeError", "ValueError"}
KINDS = {kind.__name__ for kind in (ConfigurationError, DataError, UnavailableError)}
_BUILT_IN = {name for name, each in vars(builtins).items() if isinstance(each, type) and issubclass(each, Exception)}
#: Exceptions that no caller of a step or a command sees, and why.
WITHOUT = {
    "BadFileError": "the oracle of the demo runs in a Python without Tidegate",
    "CommandFailed": "each caller says it of the command of its own setting",
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


def errors(sources: Mapping[str, str]) -> Iterator[tuple[str, set[str]]]:
    """Yield the name of each class of errors but the kinds, with the names of all that it is derived from."""
    every = list(classes(sources))
    bases: dict[str, set[str]] = {}
    for name, direct in every:
        bases.setdefault(name, set()).update(direct)
    for name, direct in every:
        above = ancestors(direct, bases)
        if above & (_BUILT_IN | KINDS) and name not in {*KINDS, TidegateError.__name__}:
            yield name, above


def wrong(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the errors that have no kind or several, each with those that it has."""
    public = ((name, above & KINDS) for name, above in errors(sources) if not name.startswith("_"))
    return {name: kinds for name, kinds in public if len(kinds) != 1}


def product() -> dict[str, str]:
    """Return the sources of the product by path."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in tracked()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in PRODUCT
    }


def bare(source: str) -> list[int]:
    """Return the lines that raise an error without a kind."""
    raised = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Raise) and node.exc]
    classes_of = {node.lineno: node.exc.func if isinstance(node.exc, ast.Call) else node.exc for node in raised}
    return sorted(line for line, name in classes_of.items() if isinstance(name, ast.Name) and name.id in BARE)


def names(node: ast.AST) -> set[str]:
    """Return the names in a part of a program."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def caught(sources: Mapping[str, str]) -> set[str]:
    """Return the names of classes that something catches or asks for: also those of tuples, which it catches later."""
    found: set[str] = set()
    for source in sources.values():
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.ExceptHandler(type=ast.expr() as where) | ast.MatchClass(cls=where):
                    found |= names(where)
                case ast.Assign(value=ast.Tuple() as where):
                    found |= names(where)
                case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "suppress")):
                    found |= names(node)
    return found


def knows_nothing(name: str, source: str) -> bool:
    """Return whether a module of a demo, or of a proof, imports nothing of Tidegate but these."""
    modules = [node.module or "" for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    ours = [module for module in modules if module.startswith("tidegate")]
    apart = ("tidegate.platform.demo", "tidegate.platform.prove")
    return name.startswith(("platform/demo/", "platform/prove/")) and all(each.startswith(apart) for each in ours)


def test_each_error_has_one_kind() -> None:
    assert set(wrong(product())) == set(WITHOUT)


def test_each_error_is_raised_as_one_of_a_kind() -> None:
    """Producers and oracles of demos and proofs know nothing of Tidegate, so that no mistake of it is theirs too."""
    found = {name: bare(source) for name, source in product().items() if not knows_nothing(name, source)}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_each_class_of_errors_is_caught_by_its_own_name() -> None:
    sources = product()
    found = {name for name, _ in errors(sources)} - {BadSetting.__name__, BadValue.__name__}
    assert found > {"StoreError", "Misfit"}
    assert found - caught(sources) == set()


def test_a_class_that_is_caught_is_seen() -> None:
    source = (
        "try: ...\nexcept (A, B): ...\nisinstance(x, C | D)\nfound = (E, F)\nmatch x:\n    case G(): ...\nraise H\n"
    )
    assert caught({"a": source}) >= set("ABCDEFG")
    assert "H" not in caught({"a": source})


def test_a_bare_error_is_seen() -> None:
    source = "raise ValueError\nraise RuntimeError('x') from None\nraise BadValue('x')\nraise\nraise error\n"
    assert bare(source) == [1, 2]
    assert knows_nothing("platform/demo/a.py", "from tidegate.platform.demo.b import c\nimport json\n")
    assert not knows_nothing("platform/demo/a.py", "from tidegate.platform.core.b import c\n")
    assert not knows_nothing("platform/core/a.py", "import json\n")


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


def test_a_value_that_is_wrong_is_a_value_error_of_python_too() -> None:
    """Pydantic takes a ValueError of a validator for the mistake of a value, and so does code that reads many files."""
    assert all(issubclass(kind, ValueError) for kind in (BadSetting, BadValue, LakeConfigError))
    assert not any(issubclass(kind, ValueError) for kind in (ConfigurationError, DataError, UnavailableError))
