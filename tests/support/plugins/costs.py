"""Cost of tests by group and by servers, and the slowest: CPU time of a test's process and of every process below it.

The figures exist only on Linux. Elsewhere the columns stay empty.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.plugins.groups import GROUPS
from tests.support.plugins.parallel import server_of

#: Where the Makefile notes the CPU seconds of the JUnit tests.
JUNIT = Path(__file__).resolve().parents[3] / "build" / "junit-cpu-seconds"
#: Where all tests are listed, those that took most CPU seconds first.
_EVERY = JUNIT.with_name("test-cpu-seconds")
_SLOWEST = 10
_PROC = Path("/proc")


def cpu_seconds(of: int | None = None) -> float:
    """Return CPU seconds so far of a process and all processes below it, including ended processes that were waited
    for.

    After proc(5): fields 14 to 17 of `/proc/<pid>/stat`, in clock ticks.

    Args:
        of: the process; None for this process.
    """
    if not _PROC.is_dir():
        return 0.0
    if of is None and not _has_children():
        return sum(os.times()[:4])
    spent, children = {}, defaultdict(list)
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue  # the process has just ended
            children[int(fields[1])].append(int(entry.name))
            spent[int(entry.name)] = sum(map(int, fields[11:15]))
    ticks, below = 0, [of or os.getpid()]
    while below:
        pid = below.pop()
        ticks += spent.get(pid, 0)
        below += children[pid]
    return ticks / os.sysconf("SC_CLK_TCK")


def _has_children() -> bool:
    """Return whether this process has children.

    Most tests start none, and to look through `/proc` takes milliseconds.
    """
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


class _Meter:
    """Runs in each process with tests: adds the cost since the previous test to the last of a test's reports."""

    def __init__(self) -> None:
        self._before = 0.0

    def pytest_collection_finish(self) -> None:
        self._before = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when != "teardown":
            return report
        now = cpu_seconds()
        # The time of a process that nobody waited for is lost.
        report.cpu_seconds = max(0.0, now - self._before)  # type: ignore[attr-defined]
        self._before = now
        return report


class _Bill:
    """Runs in the process that prints: adds the reports up."""

    def __init__(self) -> None:
        self._groups: dict[str, float] = defaultdict(float)
        self._tests: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._began = time.time()
        self._of_servers: dict[str, list[pytest.TestReport]] = defaultdict(list)
        self._ends: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        spent = getattr(report, "cpu_seconds", 0.0)
        for name in GROUPS:
            if name in report.keywords:
                self._groups[name] += spent
        test = self._tests[report.nodeid]
        test[0] += report.duration
        test[1] += spent
        if (process := getattr(report, "node", None)) is not None:
            self._ends[process.gateway.id] = report.stop
        if (server := server_of(report.nodeid)) not in report.nodeid:
            self._of_servers[server].append(report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section(f"slowest {_SLOWEST}, shared set-up included")
        slowest = sorted(self._tests.items(), key=lambda item: -item[1][0])[:_SLOWEST]
        for name, (wall, spent) in slowest:
            terminalreporter.write_line(f"{wall:7.1f} s {spent:7.1f} CPU s  {name}")
        for server, reports in self._of_servers.items():
            spent = sum(getattr(report, "cpu_seconds", 0.0) for report in reports)
            first, last = min(report.start for report in reports), max(report.stop for report in reports)
            when = f"from minute {(first - self._began) / 60:.1f} to {(last - self._began) / 60:.1f}"
            terminalreporter.write_line(f"{server}: {spent / 60:.1f} CPU minutes, {when}")
        ends = ", ".join(f"{name} {(end - self._began) / 60:.1f}" for name, end in sorted(self._ends.items()))
        if ends:
            terminalreporter.write_line(f"processes ended at minute: {ends}")
        by_group = {name: self._groups[name] for name in GROUPS if name in self._groups}
        total = sum(by_group.values())
        if JUNIT.exists():
            by_group["JUnit, when it last ran"] = float(JUNIT.read_text())
        _EVERY.parent.mkdir(exist_ok=True)
        costs = sorted(((spent, name) for name, (_, spent) in self._tests.items()), reverse=True)
        _EVERY.write_text("".join(f"{spent:7.1f}  {name}\n" for spent, name in costs))
        parts = ", ".join(f"{name} {seconds / 60:.1f}" for name, seconds in by_group.items())
        terminalreporter.write_line(f"CPU minutes: {total / 60:.1f} in all: {parts}")


def pytest_configure(config: pytest.Config) -> None:
    """Register the meter where tests run, and the bill where the summary is printed."""
    config.pluginmanager.register(_Meter(), "cpu-meter")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Bill(), "cpu-bill")
