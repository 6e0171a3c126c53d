"""The lake as a Dagster resource."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, cast

import dagster as dg
from dagster_pyspark import LazyPySparkResource
from pydantic import Field, PrivateAttr
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from tidegate.platform.core.schema.column_types import quote_name
from tidegate.platform.lake.aws.clients import caller
from tidegate.platform.lake.lake import Lake, open_lake
from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.spark.provider import SparkProvider
from tidegate.platform.lake.spark.remote import REMOTE, SparkRemote
from tidegate.platform.lake.spark.server_choice import ServerChoice
from tidegate.platform.lake.spark.session import hide_token_in_errors, own_session, release
from tidegate.platform.lake.spark.token_source import TOKEN, TokenSource
from tidegate.resources.aws_resource import AwsResource

#: Key of the resource of a lake without a name, and the argument of each step that takes it.
_LAKE = "lake"


@dataclass(frozen=True)
class LakeTable:
    """A table by its SQL name. Each of its frames is read when Spark runs it, not before.

    Attributes:
        name: SQL name.
        sql: runs a query on the lake.
    """

    name: str
    sql: Callable[[str], DataFrame]

    @property
    def bronze(self) -> DataFrame:
        """Every row that was taken in, with `_source` and `_batch` in a table that was loaded."""
        return self._rows("bronze")

    @property
    def silver(self) -> DataFrame:
        """The merged rows: of each key the newest."""
        return self._rows("silver")

    @property
    def ledger(self) -> DataFrame:
        """The decision on each source object: its `key`, `status` and `reason` (docs/reference/tables.md)."""
        return self._rows("ledger")

    def _rows(self, schema: str) -> DataFrame:
        return self.sql(f"SELECT * FROM {schema}.{quote_name(self.name)}")


class LakeResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Opens the lake for a run.

    Dagster's UI shows the values of a resource's fields: values that may be secret are given as `dg.EnvVar`.

    Attributes:
        lake_yaml: path of the configuration.
        spark_remote: `sc://host:port` of the Spark Connect server. Without it, `spark` of lake.yaml says where it is.
        spark_token: token that the server requires, if any. Without it, a file or a command that the environment names
            gives the token at each connection (see `TokenSource`).
        aws: clients for S3 and SQS.
    """

    lake_yaml: str
    spark_remote: str = Field(default="", repr=False)
    spark_token: str | None = Field(default=None, repr=False)
    aws: AwsResource
    _made: list[tuple[SparkSession, SparkRemote]] = PrivateAttr(default_factory=list)
    _servers: list[SparkProvider] = PrivateAttr(default_factory=list)
    _opened: list[Lake] = PrivateAttr(default_factory=list)  # of `sql`: one or none

    @classmethod
    def from_environment(cls, lake_yaml: str | None = None) -> LakeResource:
        """Return the lake that the environment names (see `Settings.from_environment`), or that of
        another lake.yaml.
        """
        settings = Settings.from_environment()
        return cls(
            lake_yaml=lake_yaml or str(settings.lake_yaml),
            spark_remote=dg.EnvVar(REMOTE) if os.environ.get(REMOTE) else "",
            spark_token=dg.EnvVar(TOKEN) if TOKEN in os.environ else None,
            aws=AwsResource(),
        )

    @property
    def settings(self) -> Settings:
        """The settings that the fields give.

        Raises:
            ValueError: `spark_remote` is not an address.
        """
        source = None if self.spark_token else TokenSource.from_environ(os.environ)
        spark = SparkRemote.named_or_default(_resolve(self.spark_remote), _resolve(self.spark_token), source)
        return Settings(Path(self.lake_yaml), spark, self.aws.aws, dict(os.environ))

    def open(self, table: str = "") -> Lake:
        """Open handles for one run. Spark is connected at its first use, and its session ends with the run.

        Args:
            table: the key of the table that the run is for. With several Spark servers, a table has one of them.
        """
        settings = self.settings
        config = settings.config()
        server = settings.spark_server(config, table)
        if not server.is_always_there:
            self._servers.append(server)

        def connect() -> SparkSession:
            remote = server.obtain()
            if isinstance(server, ServerChoice):  # A session that this process shares may be one of another server.
                self._made.append((own_session(remote), remote))
                return self._made[-1][0]
            # PySpark's own class asks the JVM before it has made its first session.
            before = ConnectSession.getActiveSession()
            with hide_token_in_errors(remote):
                session: SparkSession = LazyPySparkResource(spark_config={"spark.remote": remote.url}).spark_session
            if before is None and cast(ConnectSession, session) is ConnectSession.getActiveSession():
                self._made.append((session, remote))  # not one that this process shares
            return session

        return open_lake(config, settings.aws, server, connect, settings.environ)

    def sql(self, query: str) -> DataFrame:
        """Return the rows of a query, as in `tidegate sql`: a statement that may change something is logged.

        Args:
            query: Spark SQL on `bronze.<table>`, `silver.<table>`, `ledger.<table>` and the views `lake.<view>`.

        Raises:
            ConfigurationError: a table of the query does not exist. The message names those that there are.
            PySparkException: Spark refuses the query.
        """
        # Its parser of SQL takes a third of a second, which each run of Tidegate's own assets would pay.
        from tidegate.platform.query.frame import statement_frame

        if not self._opened:
            self._opened.append(self.open())
        return statement_frame(self._opened[0], query, "lake.sql", lambda: caller(self.aws.aws))

    def table(self, name: str) -> LakeTable:
        """Return a table, with its rows as `.bronze`, `.silver` and `.ledger`.

        Args:
            name: its SQL name.
        """
        return LakeTable(name, self.sql)

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Close the session that the run made, and end its use of the Spark server."""
        self._opened.clear()
        while self._made:
            release(*self._made.pop())
        while self._servers:
            self._servers.pop().release()

    @contextmanager
    def open_lake(self, table: str = "") -> Iterator[Lake]:
        """Open handles with a Spark session of their own (see `Settings.open_lake`)."""
        with self.settings.open_lake(table) as lake:
            yield lake


def _resolve(value: str | None) -> str | None:
    """Return the value of a field, also outside of Dagster, which alone gives a resource the values of variables."""
    return value.get_value() if isinstance(value, dg.EnvVar) else value


def with_lake(key: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the decorator of a step or a sensor whose argument `lake` is the resource with this key.

    Dagster finds a resource by the name of the argument, and each lake of a code location has a resource of its own.

    Args:
        key: the key of the resource.
    """

    def decorate(step: Callable[..., Any]) -> Callable[..., Any]:
        if key == _LAKE:
            return step
        signature = inspect.signature(step, eval_str=True)
        named = [each.replace(name=key) if each.name == _LAKE else each for each in signature.parameters.values()]

        def rename_lake(given: dict[str, Any]) -> dict[str, Any]:
            return {_LAKE if name == key else name: value for name, value in given.items()}

        # Dagster asks whether the function of a step is one that generates.
        if inspect.isgeneratorfunction(step):

            @wraps(step)
            def call_with_lake(*given: Any, **named: Any) -> Any:
                yield from step(*given, **rename_lake(named))

        else:

            @wraps(step)
            def call_with_lake(*given: Any, **named: Any) -> Any:
                return step(*given, **rename_lake(named))

        call_with_lake.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
        call_with_lake.__annotations__ = {
            **{each.name: each.annotation for each in named if each.annotation is not inspect.Parameter.empty},
            "return": signature.return_annotation,
        }
        return call_with_lake

    return decorate


def lake_path() -> str:
    """Return the lake.yaml in use: TIDEGATE_LAKE, or `lake.yaml` in the working directory."""
    return str(Settings.from_environment().lake_yaml)
