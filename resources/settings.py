"""What a process has to know to work on a lake: made once, then passed on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import SparkSession

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import load_lake
from tidegate.resources.aws.clients import Aws
from tidegate.resources.lake import Lake, open_lake
from tidegate.resources.spark.remote import SparkRemote
from tidegate.resources.spark.session import session_of_its_own

LAKE = "TIDEGATE_LAKE"
_DEFAULT_LAKE = "lake.yaml"


@dataclass(frozen=True)
class Settings:
    """Which lake, and through what it is reached.

    Attributes:
        lake_yaml: path of the configuration.
        spark: the Spark Connect server.
        aws: clients of S3, SQS and DynamoDB.
        environ: what ``${NAME}`` in the configuration stands for.
    """

    lake_yaml: Path
    spark: SparkRemote
    aws: Aws
    environ: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Settings:
        """Those that the variables of an environment make, this process's or a local platform's.

        Raises:
            ValueError: SPARK_REMOTE is no address.
        """
        lake = Path(environ.get(LAKE) or _DEFAULT_LAKE)
        return cls(lake, SparkRemote.of(environ), Aws.of(environ), dict(environ))

    @classmethod
    def from_environment(cls) -> Settings:
        """Those of this process.

        Raises:
            ValueError: SPARK_REMOTE is no address.
        """
        return cls.of(os.environ)

    def with_lake(self, lake_yaml: Path | None) -> Settings:
        """The same on another lake.yaml, where one is given."""
        return self if lake_yaml is None else replace(self, lake_yaml=lake_yaml)

    def config(self) -> LakeConfig:
        """The lake.yaml.

        Raises:
            LakeConfigError: it is wrong.
        """
        return load_lake(self.lake_yaml, self.environ)

    @contextmanager
    def opened(self) -> Iterator[Lake]:
        """Handles with a Spark session of their own, closed afterwards: for processes that outlive a Spark server."""
        with ExitStack() as stack:

            def connected() -> SparkSession:
                return stack.enter_context(session_of_its_own(self.spark))

            yield open_lake(self.config(), self.aws, self.spark, connected)
