"""Tests that generate courses: some in each run, and many with `--soak`, which runs no other tests.

A test grows in one of three ways: by `@pytest.mark.seeds(some, many)`, which gives its argument `seed`; by Hypothesis,
which takes twenty times as many examples; or as it says itself, by the fixture `soak`.
"""

from __future__ import annotations

import pytest
from hypothesis import is_hypothesis_test, settings

from tidegate.platform.core.config.commits import Commits

#: The first seed, unless a test or `--seed` says another.
_SEED = 20_261_121
_MORE_EXAMPLES = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--soak`, `--seed` and `--commits`."""
    parser.addoption("--soak", action="store_true", help="run the tests that generate courses, for a long time")
    parser.addoption("--seed", type=int, help="the first seed of each test")
    parser.addoption("--commits", choices=["dynamodb", "s3"], default="dynamodb", help="how fault tests commit")


def pytest_configure(config: pytest.Config) -> None:
    """Set how many examples Hypothesis takes."""
    # Whether an example takes a fifth of a second depends on the machine.
    settings.register_profile("tidegate", deadline=None)
    some = settings.get_profile("tidegate")
    settings.register_profile("soak", some, max_examples=_MORE_EXAMPLES * some.max_examples)
    settings.load_profile("soak" if config.getoption("--soak") else "tidegate")


@pytest.fixture(scope="session")
def soak(pytestconfig: pytest.Config) -> bool:
    """Return whether a test should run for a long time."""
    return bool(pytestconfig.getoption("--soak"))


@pytest.fixture(scope="session")
def commits(pytestconfig: pytest.Config) -> Commits:
    """Return how the servers and writers of the fault tests commit, unless a test says another way."""
    given: Commits = pytestconfig.getoption("--commits")
    return given


@pytest.fixture
def seed(pytestconfig: pytest.Config) -> int:
    """Return the seed of a test that has one."""
    return _first(pytestconfig, _SEED)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test each of its seeds."""
    if marker := metafunc.definition.get_closest_marker("seeds"):
        some, many = marker.args
        first = _first(metafunc.config, marker.kwargs.get("first", _SEED))
        metafunc.parametrize("seed", range(first, first + (many if metafunc.config.getoption("--soak") else some)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what does not grow."""
    if config.getoption("--soak"):
        config.hook.pytest_deselected(items=[item for item in items if not _grows(item)])
        items[:] = filter(_grows, items)


def _grows(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and (
        item.get_closest_marker("seeds") is not None or "soak" in item.fixturenames or is_hypothesis_test(item.obj)
    )


def _first(config: pytest.Config, otherwise: int) -> int:
    given = config.getoption("--seed")
    return otherwise if given is None else given
