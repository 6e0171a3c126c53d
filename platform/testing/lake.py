"""A lake of one test: buckets, queue and lake.yaml of its own on the shared local stack."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from pyspark.sql import Row

from tidegate.assets.bronze.asset import TABLES
from tidegate.assets.runs.tags import TRIGGER_TAG
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.definitions import build_definitions
from tidegate.platform.local.provision import Clients, Resources, provision
from tidegate.platform.local.stack import LocalStack
from tidegate.resources.aws.dagster_resource import AwsResource
from tidegate.resources.lake import Lake
from tidegate.resources.lake_resource import LakeResource
from tidegate.sensors.intake.sort import Intake
from tidegate.sensors.intake.tick import take_in


class TestLake:
    """A lake of its own for one test.

    Args:
        stack: the running local stack.
        folder: where the lake.yaml is written.
        name: unique among the lakes of the stack; buckets and queue carry it.
        tables: the ``tables`` of its lake.yaml; ``prefix: orders/`` stands for that folder of the landing bucket. The
            name of a row queue gets the lake's behind it.
        more: further fields of its lake.yaml.
    """

    __test__ = False  # the name begins like a test's

    def __init__(
        self,
        stack: LocalStack,
        folder: Path,
        name: str,
        tables: list[dict[str, Any]],
        more: Mapping[str, Any],
    ) -> None:
        self.stack = stack
        self.bucket, self.lake_bucket, queue = f"landing-{name}", f"lake-{name}", f"events-{name}"
        self.path = folder / "lake.yaml"
        full = [_placed(table, self.bucket, name) for table in tables]
        body = {
            "lake": {"root": f"s3://{self.lake_bucket}/lake"},
            "queues": [{"url": stack.aws.queue_url(queue)}],
            "buckets": [self.bucket],
            "window": 0,
            "intake": {"seconds": 10, "threads": 2, "every": 1},
            "tables": full,
            **more,
        }
        self.path.write_text(yaml.safe_dump(body, sort_keys=False))
        self.clients: Clients = stack.clients()
        self.config: LakeConfig = load_lake(self.path)
        provision(self.clients, Resources.of(self.config))

    @cached_property
    def resource(self) -> LakeResource:
        """The resource that assets and sensors take."""
        aws = self.stack.aws.environ
        return LakeResource(
            lake_yaml=str(self.path),
            spark_remote=self.stack.spark.remote.address,
            spark_token=self.stack.spark.remote.token,
            aws=AwsResource(
                endpoint_url=self.stack.aws.endpoint,
                region_name=aws["AWS_REGION"],
                aws_access_key_id=aws["AWS_ACCESS_KEY_ID"],
                aws_secret_access_key=aws["AWS_SECRET_ACCESS_KEY"],
            ),
        )

    @cached_property
    def lake(self) -> Lake:
        """Open handles, for looking at the lake without Dagster.

        They use the session that runs of this process use: a new one would compile all its plans anew, for seconds.
        """
        return self.resource.open()

    @cached_property
    def definitions(self) -> dg.Definitions:
        """The lake's definitions, as the code location has them."""
        return build_definitions(self.config, self.resource)

    def spec(self, name: str) -> TableSpec:
        """The configuration of a table."""
        return next(spec for spec in self.config.tables if spec.name == name)

    def key(self, name: str) -> str:
        """The table key of a table, by its SQL name, or by its folder where it is not configured."""
        for spec in self.config.tables:
            if spec.name == name:
                return spec.table_key.encode()
        return TableKey(self.bucket, f"{name.rstrip('/')}/").encode()

    def put(self, key: str, body: bytes | str) -> None:
        """Put an object into the landing bucket; S3 notifies the queue."""
        self.clients.s3.put_object(Bucket=self.bucket, Key=key, Body=body.encode() if isinstance(body, str) else body)

    def delete(self, key: str) -> None:
        """Delete an object of the landing bucket; S3 notifies the queue."""
        self.clients.s3.delete_object(Bucket=self.bucket, Key=key)

    def intake(self) -> Intake:
        """Drain the queue into the inbox, as the sensor does.

        Raises:
            Exception: what failed in that.
        """
        taken = take_in(self.lake)
        for error in taken.failures.values():
            raise error
        return taken

    def materialize(
        self,
        asset: str,
        table: str | None = None,
        *,
        tags: Mapping[str, str] | None = None,
        from_inbox: bool = False,
        raise_on_error: bool = True,
    ) -> dg.ExecuteInProcessResult:
        """Materialize an asset, with the run's own Dagster instance.

        Args:
            asset: ``bronze`` or ``silver_<table>``.
            table: for bronze, the table's SQL name or folder: its partition is materialized.
            tags: run tags.
            from_inbox: work off the inbox only, as a run that the sensor asked for; else the prefix is listed too.
            raise_on_error: raise what the asset raised.
        """
        found = self.definitions.resolve_asset_graph().assets_def_for_key(dg.AssetKey([asset]))
        partition = self.key(table) if table else None
        with dg.DagsterInstance.ephemeral() as instance:
            if partition:
                instance.add_dynamic_partitions(TABLES.name or "", [partition])
            return dg.materialize(
                [found],
                partition_key=partition,
                instance=instance,
                tags={**({TRIGGER_TAG: "sensor"} if from_inbox else {}), **(tags or {})},
                raise_on_error=raise_on_error,
            )

    def sql(self, query: str) -> list[Row]:
        """Run a query on the shared Spark server, after giving this lake's tables their names."""
        self.lake.name_tables()
        return self.lake.delta.session.sql(query).collect()


def _placed(table: Mapping[str, Any], bucket: str, lake: str) -> dict[str, Any]:
    if "row_queue" in table:
        return {**table, "row_queue": {**table["row_queue"], "name": f"{table['row_queue']['name']}-{lake}"}}
    return {**table, "prefix": _uri(bucket, table["prefix"])}


def _uri(bucket: str, prefix: str) -> str:
    return prefix if prefix.startswith("s3://") else f"s3://{bucket}/{prefix}"
