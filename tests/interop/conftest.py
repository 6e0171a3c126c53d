"""Servers for the tests with other writers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.plugins.proxied_aws import ProxiedAws
from tests.support.servers.shore import Shore


@pytest.fixture
def shore(proxied_spark: SparkSession, proxied_aws: ProxiedAws, tmp_path: Path) -> Iterator[Shore]:
    with ExitStack() as closing:
        yield Shore(tmp_path, proxied_spark, proxied_aws, closing)
