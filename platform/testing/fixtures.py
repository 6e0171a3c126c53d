"""pytest fixtures: one warm Spark server and one local AWS for the whole session, and a separate lake for each test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.connect.session import SparkSession

from tidegate.platform.local.spark.conf import SMALL_DATA_FOR_LONG
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.testing.lake import TestLake

MakeLake = Callable[..., TestLake]


@pytest.fixture(scope="session")
def tidegate_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Yield the local AWS and a warm Spark Connect server, shared by all tests of the session."""
    home = tmp_path_factory.mktemp("stack")
    with LocalStack(home, aws_port=0, spark_port=0, spark_conf=SMALL_DATA_FOR_LONG) as stack:
        # Runs in this process share one session, because a new one would compile all plans again, for seconds. It is
        # closed here, because its clean-up at exit would retry a server that is gone.
        session = SparkSession.builder.remote(stack.spark.remote.url).getOrCreate()
        yield stack
        session.stop()


@pytest.fixture
def tidegate_lake(tidegate_stack: LocalStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeLake:
    """Make lakes: `tidegate_lake([{"name": "orders", "prefix": "orders/"}], discovery=False)`."""
    for name, value in tidegate_stack.environ.items():
        monkeypatch.setenv(name, value)

    def make(tables: list[dict[str, Any]] | None = None, **more: Any) -> TestLake:
        folder = tmp_path / uuid.uuid4().hex[:8]
        folder.mkdir()
        return TestLake(tidegate_stack, folder, folder.name, tables or [], more)

    return make
