"""Settings of all tests. Fixtures and helpers are in `tests/support`."""

from __future__ import annotations

import signal

pytest_plugins = [
    "tidegate.testing",
    "tests.support.plugins.groups",
    "tests.support.plugins.parallel",
    "tests.support.plugins.costs",
    "tests.support.plugins.garbage",
    "tests.support.plugins.processes",
    "tests.support.plugins.soak",
    "tests.support.plugins.proxied_aws",
]


def pytest_configure() -> None:
    for each in (signal.SIGINT, signal.SIGTERM):
        # A background job has SIGINT ignored, and after a run of Dagster SIGTERM too: fixtures must end in order.
        signal.signal(each, signal.default_int_handler)
