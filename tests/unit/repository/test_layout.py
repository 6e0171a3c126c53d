"""The layout of the tree: `platform/` next to the standard library's `platform`, sizes, imports, and clean files."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.layout import (
    function_lines,
    import_circles,
    misplaced_tests,
    package_circles,
    package_sizes,
    sibling_circles,
    single_modules,
)
from tests.support.tracked import tracked

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("platform", "assets", "sensors", "resources")
JAVA, JAVA_TESTS = "platform/jvm/src/main", "platform/jvm/src/test"

MAX_CLASSES_OF_A_PACKAGE = 17
MAX_LINES_OF_A_CLASS = 400
MAX_LINES_OF_A_FUNCTION = 60

#: Folders with a single module, and why.
SINGLE_MODULES: dict[str, str] = {}
#: Unit tests whose subject is not an imported module of the mirrored folder, and why.
TESTS_OF_MORE = {
    "tests/unit/platform/core/bronze/test_samples.py": "objects of every format, as versions wrote them",
    "tests/unit/platform/test_dagster_limits.py": "dagster.yaml, which is not a module",
}
#: Modules that make temporary views of Spark themselves, and why.
VIEWS_BY_HAND = {
    "platform/query/frame.py": "the user's query names its views, in a session that ends with the command",
    "platform/lake/spark/temporary_view.py": "it makes the views of the other modules",
}
#: What puts the engine and Dagster's three folders together.
COMPOSITION = {"cli", "component", "definitions", "demo", "launcher", "local", "prove", "testing"}
#: Packages that import each other, and why.
CIRCLES = [
    [f"tidegate.platform.bronze.prepare.{name}" for name in ("formats", "load", "table_columns")],  # one step of bronze
]
LONG_CLASSES = {"CommitProtocol.java": "the steps of a commit, which are read, and explored by a test, as one protocol"}


def test_platform_is_not_a_package_of_its_own() -> None:
    """With an __init__.py it would shadow the standard library's module in every process started here."""
    assert not (ROOT / "platform" / "__init__.py").exists()


def test_no_module_is_named_like_one_of_the_standard_library() -> None:
    """`python platform/x.py` puts that folder first on the path."""
    names = {path.stem if path.is_file() else path.name for path in (ROOT / "platform").glob("*")}
    assert not names & sys.stdlib_module_names
    for path in (ROOT / "platform").rglob("*.py"):
        assert path.stem not in sys.stdlib_module_names, path


@pytest.mark.parametrize("options", [[], ["-P"]], ids=["cwd on the path", "safe path"])
def test_platform_is_the_standard_library_s_from_here(options: list[str]) -> None:
    program = "import platform, sys; print(platform.__file__); platform.system()"
    done = subprocess.run(
        [sys.executable, *options, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert Path(done.stdout.strip()).name == "platform.py"
    assert ROOT not in Path(done.stdout.strip()).parents


def test_packages_are_imported_under_one_name_only() -> None:
    """From the root, `import assets` works too, and would make a second copy of every class."""
    wrong = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(PACKAGES[1:])})[\s.]|^\s*from platform[\s.]", re.MULTILINE)
    for path in tracked():
        if path.suffix == ".py":
            assert not wrong.search(path.read_text()), path


# The path of somebody's machine; not a path inside a bucket, which has something before it.
MACHINE_PATHS = re.compile(r"(?<![\w/.:$}*-])/(?:work|root|tmp/tg|home/\w+|Users/\w+)/")
REGISTRY_HOSTS = re.compile(r"(?:index-url|--find-links|registry)\s*[= ]\s*https?://|://[\w.-]*(?:artifactory|nexus)")


@pytest.mark.parametrize("pattern", [MACHINE_PATHS, REGISTRY_HOSTS], ids=["machine paths", "registry hosts"])
def test_files_name_no_machine_and_no_registry(pattern: re.Pattern[str]) -> None:
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found = pattern.search(text)
        assert not found, f"{path.relative_to(ROOT)}: {found and found.group()}"


def test_a_link_leads_to_a_file_of_this_repository() -> None:
    """A link to a folder of one machine is nothing in any other clone."""
    listed = subprocess.run(["git", "ls-files", "--stage"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    links = [ROOT / line.split("\t", 1)[1] for line in listed.splitlines() if line.startswith("120000")]
    there = {place for file in tracked() for place in (file, file.parent)} | {ROOT / folder for folder in PACKAGES}
    assert links
    assert [str(link) for link in links if link.resolve() not in there] == []


def test_requirements_are_pinned_and_hashed() -> None:
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        lines = path.read_text().replace("\\\n", " ").splitlines()
        wanted = [line for line in lines if line.strip() and not line.lstrip().startswith(("#", "--hash"))]
        assert wanted, path
        for line in wanted:
            assert re.match(r"[\w.\[\], -]+==\S+ .*--hash=sha256:", line), f"{path.name}: {line[:80]}"


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").rglob("[a-z]*.py")), ids=lambda path: path.stem)
def test_measurements_can_be_imported(path: Path) -> None:
    """Nothing else runs them, so a name that moved would be noticed only when somebody measures."""
    importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def test_temporary_views_are_made_in_one_place() -> None:
    """There a view is dropped after an error too. The first writer of a view by hand forgets that."""
    by_hand = re.compile(r"TempView\(|\bTEMP(?:ORARY)? VIEW\b")
    found = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in PACKAGES and by_hand.search(path.read_text())
    ]
    assert found == sorted(VIEWS_BY_HAND)


def test_a_folder_with_a_single_module_has_a_reason() -> None:
    """A folder of tests mirrors one of modules, even if one module of them has tests."""
    assert single_modules(ROOT, (*PACKAGES, "tests/support")) == sorted(SINGLE_MODULES)


def test_a_unit_test_is_in_the_folder_of_its_module_and_has_its_name() -> None:
    misplaced = misplaced_tests(ROOT, "tests/unit", "tidegate")
    about_code = [finding for finding in misplaced if not finding.startswith("tests/unit/repository/")]
    assert [finding.split(": ")[0] for finding in about_code] == list(TESTS_OF_MORE), about_code


def test_functions_are_short() -> None:
    functions = [name for name, lines in function_lines(ROOT, PACKAGES).items() if lines > MAX_LINES_OF_A_FUNCTION]
    assert functions == []


def test_no_package_of_java_has_more_classes_than_a_reader_takes_in() -> None:
    sizes = package_sizes(ROOT, (JAVA, JAVA_TESTS))
    assert sum(sizes.values()) > 150
    assert {folder: size for folder, size in sizes.items() if size > MAX_CLASSES_OF_A_PACKAGE} == {}


def test_junit_tests_are_in_packages_of_the_classes_that_they_test() -> None:
    packages = {folder.removeprefix(JAVA) for folder in package_sizes(ROOT, (JAVA,))}
    assert {folder.removeprefix(JAVA_TESTS) for folder in package_sizes(ROOT, (JAVA_TESTS,))} <= packages


def test_no_package_of_java_imports_itself_through_others() -> None:
    assert package_circles(ROOT, (JAVA,), "io.tidegate") == []


def test_classes_of_java_are_short() -> None:
    classes = {path.name: path.read_text().count("\n") for path in (ROOT / JAVA).rglob("*.java")}
    assert len(classes) > 100
    assert sorted(name for name, lines in classes.items() if lines > MAX_LINES_OF_A_CLASS) == sorted(LONG_CLASSES)


def test_no_module_imports_itself_through_others() -> None:
    assert import_circles(ROOT, PACKAGES, "tidegate") == []


def test_each_part_of_platform_is_in_the_contract_about_dagster() -> None:
    """A new folder would else be neither of the engine nor of what puts it together."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (engine,) = (each["source_modules"] for each in contracts if each["name"] == "The engine needs no Dagster")
    parts = {
        path.stem for path in (ROOT / "platform").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert parts - {name.rpartition(".")[2] for name in engine} == COMPOSITION


def test_no_package_imports_itself_through_others() -> None:
    """What a reader takes for two rooms is one, if each needs the other."""
    # `platform` has what is below the other three and what is above them: the contracts of imports say which.
    *inner, _ = sorted(sibling_circles(ROOT, PACKAGES, "tidegate"), key=lambda circle: circle[0] == "tidegate.assets")
    assert inner == CIRCLES


def test_a_planted_break_of_each_rule_of_size_and_imports_is_seen(tmp_path: Path) -> None:
    """A rule that sees nothing holds nothing."""
    files = {
        "assets/__init__.py": "",
        "assets/crowd/__init__.py": "",
        **{f"assets/crowd/m{number}.py": "" for number in range(17)},
        "assets/alone/__init__.py": "",
        "assets/alone/single.py": "from tidegate.assets.first import A",
        "assets/first.py": "def f() -> None:\n    from tidegate.assets import second\n",
        "assets/second.py": "import tidegate.assets.alone.single",
        "assets/target/classes/generated.py": "",
        **{f"jvm/C{number}.java": "package a;\n\nimport a.b.D;\n" for number in range(17)},
        "jvm/b/D.java": "package a.b;\n\nimport static a.C1.VALUE;\n",
        "jvm/b/package-info.java": "package a.b;\n",
        "assets/long.py": "class C:\n    async def g(self) -> None:\n" + "        pass\n" * 399,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert single_modules(tmp_path, ("assets",)) == ["assets/alone"]
    assert function_lines(tmp_path, ("assets",)) == {"assets/first.py:f": 2, "assets/long.py:g": 400}
    assert import_circles(tmp_path, ("assets",), "tidegate") == [
        ["tidegate.assets.alone.single", "tidegate.assets.first", "tidegate.assets.second"]
    ]
    assert sibling_circles(tmp_path, ("assets",), "tidegate") == [
        ["tidegate.assets.alone", "tidegate.assets.first", "tidegate.assets.second"]
    ]
    misplaced = {
        "tests/unit/assets/crowd/test_m1.py": None,
        "tests/unit/assets/crowd/test_crowd.py": None,
        "tests/unit/assets/test_crowd.py": None,
        "tests/unit/assets/crowd/test_other.py": "assets/crowd has no module other",
        "tests/unit/assets/gone/test_m1.py": "there is no folder assets/gone",
        "tests/unit/assets/alone/test_single.py": "it imports nothing of tidegate.assets.alone",
    }
    for name in misplaced:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("from tidegate.assets.crowd.m1 import x\n")
    findings = misplaced_tests(tmp_path, "tests/unit", "tidegate")
    assert findings == sorted(f"{name}: {why}" for name, why in misplaced.items() if why)
    assert package_sizes(tmp_path, ("jvm",)) == {"jvm": 17, "jvm/b": 1}
    assert package_circles(tmp_path, ("jvm",), "a") == [["a", "a.b"]]


#: Words in code style that the docstring of a package has, and that are not its modules.
_NO_MODULES = {"tidegate", "tidegate.testing", "docs/commands.schema.json", "scd1", "scd2", "platform/"}


def test_a_package_names_modules_that_it_has() -> None:
    """A docstring that names a module by its old name sends a newcomer nowhere."""
    packages = [
        path for path in tracked() if path.name == "__init__.py" and path.relative_to(ROOT).parts[0] in PACKAGES
    ]
    assert len(packages) > 60
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in packages
        for name in re.findall(
            r"`([a-z_][\w./]*)`", ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        )
        if name not in _NO_MODULES and not (path.parent / name).is_dir() and not (path.parent / f"{name}.py").is_file()
    ]
    assert not missing
