"""The lake of a process that takes messages in: by its lake.yaml as the file is now, and without Spark."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.lake.lake import Lake, open_lake
from tidegate.platform.lake.settings import Settings


class CurrentLake:
    """A lake whose lake.yaml is read again when the file has changed.

    Args:
        settings: name the file, and reach AWS.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened: tuple[tuple[int, int, int], Lake] | None = None

    def open(self) -> Lake:
        """Return the lake.

        Raises:
            ConfigurationError: the file is wrong, has no queue, or lets the sensor drain the queues.
        """
        settings = self._settings
        seen = _version_of(settings.lake_yaml)
        if self._opened is None or self._opened[0] != seen:
            config = settings.config()
            require_processes(config, settings.lake_yaml)
            lake = open_lake(config, settings.aws, settings.spark_server(config), _refuse_spark, settings.environ)
            self._opened = seen, lake
        return self._opened[1]


def require_processes(config: LakeConfig, path: Path) -> None:
    """Check that processes drain the queues of a lake.

    Raises:
        ConfigurationError: the sensor does, or there is no queue.
    """
    if not config.every_queue:
        raise ConfigurationError(
            f"{path} has no queue (`queues: []`), so there is nothing to drain: listings find files"
        )
    if config.intake.by != "processes":
        raise ConfigurationError(
            f"{path} lets the sensor `intake` drain the queues. Write `intake: {{by: processes}}` there: the sensor "
            "then only reads what processes and functions have taken in"
        )


def _version_of(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)  # Reading it says what is wrong.
    return found.st_mtime_ns, found.st_size, found.st_ino


def _refuse_spark() -> SparkSession:
    raise AssertionError("intake needs no Spark")
