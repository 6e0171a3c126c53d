"""The groups of tests: a folder is a group, and a run of all groups fails if one is left out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

_TESTS = Path(__file__).resolve().parents[2]

#: Folders and markers. The fast group is first, so that a mistake is found early. Then come the tests of the longest
#: servers, which are one after the other: they begin at once, and the short files of other groups fill the end.
GROUPS = ("unit", "spark", "browser", "foreign", "jvm", "faults", "interop", "local")


def group_of(path: Path) -> str:
    """Return the group of a test's file: its folder under `tests/`.

    Raises:
        pytest.UsageError: the file is in no group's folder.
    """
    folder = path.relative_to(_TESTS).parts[0]
    if folder not in GROUPS:
        raise pytest.UsageError(f"{path} is in none of the folders {', '.join(GROUPS)}, which say what a test needs")
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--every-group`."""
    parser.addoption(
        "--every-group", action="store_true", help="fail unless tests of every group ran, passed, and none was skipped"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the guard. A parallel run is judged as a whole."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Guard(config), "every-group")


@pytest.hookimpl(tryfirst=True)  # before -m reads the markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by its folder, and put the groups in order."""
    for item in items:
        item.add_marker(group_of(item.path))
    items.sort(key=lambda item: GROUPS.index(group_of(item.path)))


class _Guard:
    """Counts passed tests by group. A skipped test does not count."""

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
