"""The lake as a Dagster resource."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import dagster as dg
from dagster_pyspark import LazyPySparkResource
from pyspark.sql import SparkSession

from tidegate.platform.core.lake import LakeConfig, load_lake
from tidegate.resources.aws import AwsResource
from tidegate.resources.delta import Delta
from tidegate.resources.lake import Lake
from tidegate.resources.lake_root.store import LakeStore
from tidegate.resources.object_store import ObjectStore
from tidegate.resources.queue import Queue
from tidegate.resources.spark import session_of_its_own

_DEFAULT_REMOTE = "sc://127.0.0.1:15002"


class LakeResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Opens the lake for a run.

    Attributes:
        lake_yaml: path of the configuration.
        spark_remote: ``sc://host:port`` of the Spark Connect server.
        aws: clients for S3 and SQS.
    """

    lake_yaml: str
    spark_remote: str
    aws: AwsResource

    @classmethod
    def from_environment(cls) -> LakeResource:
        """The lake that TIDEGATE_LAKE (default ``lake.yaml``) and SPARK_REMOTE name."""
        return cls(
            lake_yaml=lake_path(),
            spark_remote=os.environ.get("SPARK_REMOTE", _DEFAULT_REMOTE),
            aws=AwsResource(),
        )

    def open(self) -> Lake:
        """Handles for one run; Spark is connected at its first use."""
        pyspark = LazyPySparkResource(spark_config={"spark.remote": self.spark_remote})
        return open_lake(load_lake(self.lake_yaml), self.aws, self.spark_remote, lambda: pyspark.spark_session)

    @contextmanager
    def opened(self) -> Iterator[Lake]:
        """Handles with a Spark session of their own, closed afterwards: for processes that outlive a Spark server."""
        with ExitStack() as stack:

            def connected() -> SparkSession:
                return stack.enter_context(session_of_its_own(self.spark_remote))

            yield open_lake(load_lake(self.lake_yaml), self.aws, self.spark_remote, connected)


def lake_path() -> str:
    """The lake.yaml in use: TIDEGATE_LAKE, or ``lake.yaml`` in the working directory."""
    return os.environ.get("TIDEGATE_LAKE", "lake.yaml")


def name_tables(remote: str) -> None:
    """Give every table of the lake its SQL names on a server that has just started; ``remote`` is its address."""
    lake = LakeResource(lake_yaml=lake_path(), spark_remote=remote, aws=AwsResource())
    with lake.opened() as handles:
        handles.name_tables()


def open_lake(config: LakeConfig, aws: AwsResource, remote: str, connect: Callable[[], SparkSession]) -> Lake:
    """Handles on a lake.

    Args:
        config: the lake.yaml.
        aws: clients.
        remote: ``sc://host:port``.
        connect: makes the Spark session, at its first use.
    """
    store = LakeStore(ObjectStore(aws.client("s3")), config.lake.root)

    @cache
    def sqs() -> Any:
        return aws.client("sqs")

    queues = [Queue(sqs(), spec.url or spec.name or "") for spec in config.queues]
    return Lake(config, store, Delta(remote, connect), queues)
