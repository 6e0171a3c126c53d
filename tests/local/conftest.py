"""Fixtures of the tests that need a local AWS and no Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.servers.fault_proxy import FaultProxy
from tidegate.platform.local.aws import LocalAws


@pytest.fixture(scope="module")
def proxy(local_aws: LocalAws) -> Iterator[FaultProxy]:
    """Yield a proxy to the local AWS that can hold, cut and refuse requests."""
    with FaultProxy(local_aws.endpoint) as running:
        yield running
