"""Settings of all tests. Fixtures and helpers are in `tests/support`."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

pytest_plugins = [
    "tidegate.platform.testing.fixtures",
    "tests.support.plugins.groups",
    "tests.support.plugins.parallel",
    "tests.support.plugins.costs",
    "tests.support.plugins.processes",
    "tests.support.plugins.proxied_aws",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run random courses for a long time")
    parser.addoption("--seed", type=int, default=20_261_121, help="seed of random courses")


def pytest_configure() -> None:
    for each in (signal.SIGINT, signal.SIGTERM):
        # A background job has SIGINT ignored, and after a run of Dagster SIGTERM too: fixtures must end in order.
        signal.signal(each, signal.default_int_handler)
    # Whether an example takes a fifth of a second depends on the machine.
    settings.register_profile("tidegate", deadline=None)
    settings.load_profile("tidegate")
