"""Distributes tests to parallel processes: tests that share a server stay together.

xdist's own marker for this, `xdist_group`, has no effect with this pytest (pytest-xdist issue 1386).
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

#: The servers of most tests. `_STACKS` processes have them: more would start more, and fewer would leave cores idle.
STACK = "the stack"
_STACKS = 2

#: A session's servers, by the beginning of the paths of their tests. The first match counts. Other tests go by file.
_SERVERS = {
    "tests/spark/": STACK,
    "tests/foreign/": STACK,
    "tests/jvm/": STACK,
    "tests/faults/test_log_store": "the proxied stack",
    "tests/faults/test_commits_migrated": "the proxied stack",
    "tests/faults/test_without_dynamodb": "servers to kill, without DynamoDB",
    "tests/interop/": "the proxied stack",
    "tests/faults/": "servers to kill",
}


def server_of(nodeid: str) -> str:
    """Return the servers that a test shares with others, or its file if there are none."""
    path = nodeid.partition("::")[0]
    return next((server for start, server in _SERVERS.items() if path.startswith(start)), path)


class Together(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Gives a process all tests of servers, one after the other.

    Those of the stack go by file to the processes that have one, so that all of them end at about the same time.
    """

    def _split_scope(self, nodeid: str) -> str:
        server = server_of(nodeid)
        return nodeid.partition("::")[0] if server == STACK else server

    def _assign_work_unit(self, node: Any) -> None:
        having = [each for each, units in self.assigned_work.items() if any(server_of(unit) == STACK for unit in units)]
        waiting = list(self.workqueue)
        if node in having:
            waiting.sort(key=lambda scope: server_of(scope) != STACK)
        elif len(having) >= _STACKS:
            waiting = [scope for scope in waiting if server_of(scope) != STACK]
        if not waiting:
            node.shutdown()
            return
        self.workqueue.move_to_end(waiting[0], last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than there are cores: for a quarter of their time, tests wait for others."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Distribute whole scopes, in the order of collection."""
    config.option.loadscopereorder = False
    return Together(config, log)
