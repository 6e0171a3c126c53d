"""Distributes tests to parallel processes: tests that share a server stay together.

xdist's own marker for this, `xdist_group`, has no effect with this pytest (pytest-xdist issue 1386).
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

#: A session's servers, by the beginning of the paths of their tests. The first match counts. Other tests go by file.
_SERVERS = {
    # The two halves take about as long: two processes have a stack each, and one after the other keeps its own.
    "tests/spark/tables/test_forget.py": "the stack",
    "tests/spark/silver/": "the stack, second half",
    "tests/spark/tables/": "the stack, second half",
    "tests/spark/": "the stack",
    "tests/foreign/": "the stack",
    "tests/jvm/": "the stack",
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


class _Together(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    def _split_scope(self, nodeid: str) -> str:
        return server_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than there are cores: for a quarter of their time, tests wait for others."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Distribute whole scopes, in the order of collection."""
    config.option.loadscopereorder = False
    return _Together(config, log)
