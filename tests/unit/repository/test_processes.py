"""How tests are distributed to processes: what shares servers stays together, and the processes end together."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.plugins.parallel import STACK, Together, server_of

#: Tests of each file, as collected, and the seconds of each.
FILES = {
    **{f"tests/unit/test_{number}.py": (40, 1) for number in range(3)},
    **{f"tests/spark/silver/test_{number}.py": (4, 30) for number in range(12)},
    "tests/browser/test_demo.py": (3, 90),
    "tests/jvm/test_procedures.py": (5, 5),
    **{f"tests/faults/test_{number}.py": (3, 60) for number in range(3)},
    **{f"tests/local/test_{number}.py": (10, 4) for number in range(6)},
}
TESTS = [f"{path}::test_{number}" for path, (count, _) in FILES.items() for number in range(count)]


@dataclass(eq=False)
class _Process:
    """A process with tests. Like xdist's, it begins its last one when it knows the next, or that none comes."""

    name: str
    waiting: list[int] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    clock: float = 0.0
    shutting_down: bool = False

    @property
    def gateway(self) -> SimpleNamespace:
        return SimpleNamespace(id=self.name)

    @property
    def is_able(self) -> bool:
        return len(self.waiting) > (0 if self.shutting_down else 1)

    def send_runtest_some(self, indices: list[int]) -> None:
        self.waiting += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def _run(count: int) -> list[_Process]:
    """Run all tests in so many processes."""
    processes = [_Process(f"gw{number}") for number in range(count)]
    config: Any = SimpleNamespace(option=SimpleNamespace(loadscopereorder=False), getvalue=lambda _: [f"{count}*popen"])
    scheduler = Together(config, SimpleNamespace(loadscopesched=lambda *_: None))
    for process in processes:
        scheduler.add_node(process)
        scheduler.add_node_collection(process, TESTS)
    scheduler.schedule()
    while able := [process for process in processes if process.is_able]:
        process = min(able, key=lambda process: process.clock)
        test = process.waiting.pop(0)
        process.clock += FILES[TESTS[test].partition("::")[0]][1]
        process.done.append(TESTS[test])
        scheduler.mark_test_complete(process, test)
        if scheduler.tests_finished:
            for each in processes:
                each.shutdown()
    return processes


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_each_test_runs_once_and_two_processes_have_a_stack(count: int) -> None:
    processes = _run(count)
    assert sorted(test for process in processes for test in process.done) == sorted(TESTS)
    servers = [{server_of(test) for test in process.done} for process in processes]
    assert sum(STACK in each for each in servers) == min(count, 2)
    for server in ("servers to kill", *(path for path in FILES if server_of(path) == path)):
        assert sum(server in each for each in servers) == 1, server


def test_the_processes_end_at_about_the_same_time() -> None:
    ends = [process.clock for process in _run(3)]
    assert max(ends) - min(ends) <= 3 * 90, "the longest file"
    assert sum(ends) == sum(count * seconds for count, seconds in FILES.values())
