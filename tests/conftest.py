"""Shared fixtures, and the guard that no group of tests is left out without a word."""

from __future__ import annotations

import signal
from collections import Counter

import pytest

pytest_plugins = ["tidegate.platform.testing.fixtures", "tests.proxied_aws", "tests.parallel"]

GROUPS = ("unit", "jvm", "spark", "browser", "faults", "interop")
#: The fast group first, so that a mistake shows early; then the longest, so that parallel runs end together.
_ORDER = {name: place for place, name in enumerate(("unit", "browser", "spark", "faults", "interop", "jvm"))}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every-group", action="store_true", help="fail unless tests of every group ran, passed, and none was skipped"
    )
    parser.addoption("--soak", action="store_true", help="let races of writers go on for long")
    parser.addoption("--seed", type=int, default=20_261_121, help="of the kills and pauses in races of writers")


def pytest_configure(config: pytest.Config) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):
        # A background job has SIGINT ignored, and after a run of Dagster SIGTERM too: fixtures must end in order.
        signal.signal(each, signal.default_int_handler)
    if not hasattr(config, "workerinput"):  # a parallel run is judged as a whole
        config.pluginmanager.register(_Guard(config), "every-group")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    unmarked = [item.nodeid for item in items if not _groups(item)]
    if unmarked:
        raise pytest.UsageError(f"these tests have none of the markers {', '.join(GROUPS)}: {', '.join(unmarked[:5])}")
    items.sort(key=lambda item: min(_ORDER[name] for name in _groups(item)))


def _groups(item: pytest.Item) -> list[str]:
    return [name for name in GROUPS if item.get_closest_marker(name)]


class _Guard:
    """Counts what ran, by group: a skipped test is not a passed one."""

    def __init__(self, config: pytest.Config) -> None:
        self._wanted = config.getoption("--every-group")
        self._passed: Counter[str] = Counter()
        self._skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self._skipped.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self._passed.update(name for name in GROUPS if name in report.keywords)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._wanted and exitstatus == 0 and (self._missing() or self._skipped):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._wanted:
            return
        ran = ", ".join(f"{self._passed[name]} {name}" for name in GROUPS)
        terminalreporter.write_line(f"passed by group: {ran}")
        if missing := self._missing():
            terminalreporter.write_line(f"FAILED: no test of the groups {', '.join(missing)} passed", red=True)
        if self._skipped:
            terminalreporter.write_line(f"FAILED: skipped tests do not count: {', '.join(self._skipped[:5])}", red=True)

    def _missing(self) -> list[str]:
        return [name for name in GROUPS if not self._passed[name]]
