"""AWS's own DynamoDB Local, as a child process."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.plugins.processes import listens
from tidegate.platform.local.process.ports import LOOPBACK, free_port
from tidegate.platform.local.process.process import Process, spawn
from tidegate.platform.local.spark.java import require_java

_JARS = Path(__file__).resolve().parents[3] / "platform" / "jvm" / "dynamodb-local" / "target" / "lib"
_MAIN = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"


class DynamoDbLocal:
    """DynamoDB in memory, on a free port of loopback.

    Args:
        home: folder of its log.
        regional: whether each region has its own tables, as in AWS; otherwise all regions and keys share the tables.
    """

    def __init__(self, home: Path, *, regional: bool = False) -> None:
        self.port = free_port()
        self._home = home
        self._regional = regional
        self._process: Process | None = None

    @property
    def endpoint(self) -> str:
        """The URL for clients."""
        return f"http://{LOOPBACK}:{self.port}"

    def __enter__(self) -> Self:
        assert any(_JARS.glob("DynamoDBLocal-*.jar")), "DynamoDB Local is missing: run `make test`, which fetches it"
        self._home.mkdir(parents=True, exist_ok=True)
        options = ["-inMemory", "-disableTelemetry", "-port", str(self.port)]
        options += [] if self._regional else ["-sharedDb"]
        java = [str(require_java()), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{_JARS}/*"]
        self._process = spawn(
            "DynamoDB Local", [*java, _MAIN, *options], log=self._home / "dynamodb.log", cwd=self._home
        )
        listens(self._process, self.port)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.stop()
