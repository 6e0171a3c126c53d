"""The map of claims (docs/internals/testing.md, docs/internals/faults.md) agrees with code and tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants.catalog import MUTANTS
from tests.mutants.place import mutated
from tests.support.plugins.groups import GROUPS
from tidegate.platform.bronze.run import SEAMS

ROOT = Path(__file__).resolve().parents[3]
TESTS, JVM = ROOT / "tests", ROOT / "platform" / "jvm" / "src" / "test"
TESTING, FAULTS, ARCHITECTURE = (
    (ROOT / "docs" / "internals" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("testing", "faults", "architecture")
)
MAP = TESTING.split("## The map of claims", 1)[1]
#: A citation of a fault or an attack: a letter of docs/internals/faults.md and a number.
NUMBER = re.compile(r"\b([FABCL][1-9]\d?)\b")


def functions() -> dict[str, set[str]]:
    """Return the test functions of each file, by its path below `tests/`."""
    found = {}
    for path in TESTS.rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        found[str(path.relative_to(TESTS))] = {name for name in names if name.startswith("test_")}
    return found


FUNCTIONS = functions()
CLASSES = {path.stem: path for path in JVM.rglob("*.java")}
EVERY_FUNCTION = {name for names in FUNCTIONS.values() for name in names}


def defined() -> dict[str, str]:
    """Return the row of each number in docs/internals/faults.md."""
    return dict(re.findall(r"^\| ([FABCL]\d+) \|(.*)$", FAULTS, re.MULTILINE))


def cited_by_tests() -> Iterator[tuple[str, str]]:
    """Yield the numbers in names and docstrings of tests and in names of the explorer's scenes, each with its place."""
    for path, names in FUNCTIONS.items():
        for name in names:
            if found := re.match(r"test_([fabcl]\d+)_", name):
                yield found[1].upper(), f"{path}::{name}"
        module = ast.get_docstring(ast.parse((TESTS / path).read_text(encoding="utf-8"))) or ""
        if "docs/internals/faults.md" in module:
            yield from ((number, path) for number in NUMBER.findall(module))
    for path in JVM.rglob("*.java"):
        for number in re.findall(r'"(C\d+):', path.read_text(encoding="utf-8")):  # type: ignore[attr-defined]
            yield number, path.name  # type: ignore[attr-defined]


def test_the_numbers_that_tests_cite_are_the_ones_that_are_defined() -> None:
    cited = {number for number, _ in cited_by_tests()}
    undefined = [(number, where) for number, where in cited_by_tests() if number not in defined()]
    assert not undefined, "docs/internals/faults.md does not say what they are"
    unproven = [number for number, row in defined().items() if number not in cited and not re.search(r"`\w+`", row)]
    assert not unproven, "docs/internals/faults.md has numbers that no test cites, and names none for them"


def test_a_number_s_row_names_the_tests_of_that_number() -> None:
    for number, row in defined().items():
        named = set(re.findall(r"`(test_\w+)`", row))
        own = {name for name in EVERY_FUNCTION if name.startswith(f"test_{number.lower()}_")}
        assert named >= own, f"{number} in docs/internals/faults.md"


def test_numbers_in_docs_and_code_are_defined() -> None:
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name != "faults.md"]
    code = [path for folder in ("assets", "resources", "sensors", "platform") for path in (ROOT / folder).rglob("*.py")]
    for path in [*pages, *code]:
        text = re.sub(r"%[0-9A-F]{2}", "", path.read_text(encoding="utf-8"))
        assert set(NUMBER.findall(text)) <= set(defined()), path


@pytest.mark.parametrize("page", [FAULTS, MAP], ids=["faults.md", "testing.md"])
def test_every_test_that_is_named_is_there(page: str) -> None:
    files = {path.rsplit("/", 1)[-1] for path in FUNCTIONS}
    named = set(re.findall(r"`(test_\w+(?:\.py)?|[A-Z]\w+Test)`", page))
    assert len(named) > 30
    assert named <= EVERY_FUNCTION | CLASSES.keys() | files


def test_every_invariant_is_in_the_map() -> None:
    section = ARCHITECTURE.split("### Invariants", 1)[1].split("\n### ", 1)[0]
    invariants = [int(n) for n in re.findall(r"^(\d+)\. \*\*", section, re.MULTILINE)]
    assert invariants == list(range(1, 13))
    mapped = [int(n) for n in re.findall(r"^\| (\d+), ", MAP, re.MULTILINE)]
    assert mapped == invariants
    assert {mutant.invariant for mutant in MUTANTS} == set(invariants)


def test_every_seam_is_in_the_map_and_killed() -> None:
    section = MAP.split("### Seams and kinds of kill", 1)[1].split("\n### ", 1)[0]
    assert tuple(re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE)) == SEAMS
    for name in re.findall(r"`(test_\w+)`", section.split("\n|---", 1)[0]):
        (source,) = (path for path, names in FUNCTIONS.items() if name in names)
        body = (TESTS / source).read_text(encoding="utf-8").split(f"def {name}(", 1)
        assert 'parametrize("seam", SEAMS)' in body[0][-200:] or "for seam in SEAMS" in body[1], (
            f"{name} leaves seams out"
        )


def _constants(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _seams_of_the_code() -> set[str]:
    """Return the name of each seam. A name that a call has not itself is among the SEAM or SEAMS of some module."""
    found: set[str] = set()
    for folder in ("assets", "resources", "sensors", "platform"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                named: ast.AST | None = None
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "seam":
                    named = node.args[0]
                elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("SEAM", "SEAMS"):
                    named = node.value
                if named:
                    found |= {str(part.value) for part in ast.walk(named) if isinstance(part, ast.Constant)}
    return found


def test_every_other_seam_has_a_test_that_dies_there() -> None:
    section = MAP.split("### Seams of other operations", 1)[1].split("\n### ", 1)[0]
    rows = [
        (re.findall(r"`([\w-]+)`", seams), re.findall(r"`(test_\w+)`", tests))
        for seams, tests in re.findall(r"^\| (`.*?`) \| (.*) \|$", section, re.MULTILINE)
    ]
    mapped = [seam for seams, _ in rows for seam in seams]
    assert sorted(mapped) == sorted(_seams_of_the_code() - set(SEAMS))
    for seams, tests in rows:
        assert tests, seams
        for name in tests:
            files = [TESTS / path for path, names in FUNCTIONS.items() if name in names]
            named = set[str]().union(*map(_constants, files))
            # A test that goes through all seams of a module takes their names from it.
            through = any(re.search(r"\bSEAMS?\b", path.read_text(encoding="utf-8")) for path in files)
            assert through or named.issuperset(seams), f"{name} leaves out some of {seams}"


def test_mutants_name_tests_that_are_there_and_code_that_occurs_once_and_can_be_imported() -> None:
    assert len(MUTANTS) >= 15
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    for mutant in MUTANTS:
        _, wrong = mutated(mutant, ROOT)
        if mutant.is_java:
            for node in mutant.tests:
                name, _, method = node.partition("#")
                text = CLASSES[name].read_text(encoding="utf-8")
                assert re.search(rf" (void|Stream<DynamicTest>) {method}\(", text) or not method, node
            continue
        # A mistake that cannot be imported fails every test, and no test finds it.
        compile(wrong, mutant.name, "exec")
        for node in mutant.tests:
            path, _, name = node.removeprefix("tests/").partition("::")
            assert name in FUNCTIONS[path] | {""}, node


def test_every_folder_of_tests_is_a_group_of_the_page() -> None:
    table = TESTING.split("## Groups", 1)[1].split("\n## ", 1)[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(GROUPS)
    assert {path.split("/")[0] for path in FUNCTIONS} == set(GROUPS)
