"""The settings that a process needs to work on a lake. They are made once and passed on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.spark.remote import SparkRemote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.platform.lake.lake import Lake
    from tidegate.platform.lake.spark.provider import SparkProvider

LAKE = "TIDEGATE_LAKE"
_DEFAULT_LAKE = "lake.yaml"


@dataclass(frozen=True)
class Settings:
    """The lake, and the servers through which it is reached.

    Attributes:
        lake_yaml: path of the configuration.
        spark: the Spark Connect server that the environment names, or the default. `spark_server` is the one to use.
        aws: clients of S3, SQS and DynamoDB.
        environ: values of `${NAME}` in the configuration.
    """

    lake_yaml: Path
    spark: SparkRemote
    aws: Aws
    environ: Mapping[str, str] = field(repr=False)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Return the settings that an environment gives: the environment of this process or of a local platform.

        Raises:
            ValueError: SPARK_REMOTE is not an address.
        """
        lake = Path(environ.get(LAKE) or _DEFAULT_LAKE)
        return cls(lake, SparkRemote.from_environ(environ), Aws.from_environ(environ), dict(environ))

    @classmethod
    def from_environment(cls) -> Settings:
        """Return the settings that the environment of this process gives.

        Raises:
            ValueError: SPARK_REMOTE is not an address.
        """
        return cls.from_environ(os.environ)

    def with_lake(self, lake_yaml: Path | None) -> Settings:
        """Return these settings with another lake.yaml, if one is given."""
        return self if lake_yaml is None else replace(self, lake_yaml=lake_yaml)

    def config(self) -> LakeConfig:
        """Return the lake.yaml.

        Raises:
            LakeConfigError: the file has errors.
        """
        return load_lake(self.lake_yaml, self.environ)

    def spark_server(self, config: LakeConfig, table: str = "") -> SparkProvider:
        """Return where the Spark server of a session comes from: the environment, or lake.yaml if that names none.

        Args:
            table: the key of the table that the session is for. With several servers, a table has one of them.
        """
        if self.spark.named or (config.spark.start == "always" and not config.spark.servers):
            return self.spark
        # Here, because `tidegate infer` reads these settings and needs no Spark.
        from tidegate.platform.lake.spark.on_demand import ServerOnDemand
        from tidegate.platform.lake.spark.server_command import ServerByCommand

        if config.spark.servers:
            from tidegate.platform.lake.spark.server_choice import ServerChoice

            listed = (SparkRemote.parse(each, self.spark.token, self.spark.source) for each in config.spark.servers)
            servers = [replace(server, listed=True) for server in listed]
            return ServerChoice(servers, table) if len(servers) > 1 else servers[0]
        if config.spark.command is not None:
            return ServerByCommand(config.spark.command, self.environ)
        return ServerOnDemand(config.spark, self.lake_yaml, self.environ, config.secret_variables)

    @contextmanager
    def open_lake(self, table: str = "") -> Iterator[Lake]:
        """Open handles with a Spark session of their own, for processes that outlive a Spark server. It is closed.

        Args:
            table: as for `spark_server`.
        """
        # Here, because `tidegate infer` reads these settings and needs no Spark.
        from tidegate.platform.lake.lake import open_lake
        from tidegate.platform.lake.spark.session import isolated_session

        config = self.config()
        server = self.spark_server(config, table)
        with ExitStack() as stack:
            stack.callback(server.release)

            def connect() -> SparkSession:
                return stack.enter_context(isolated_session(server.obtain()))

            yield open_lake(config, self.aws, server, connect, self.environ)
