"""The lake of one test: its own buckets, queue and lake.yaml on the shared local stack."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from pyspark.sql import Row

from tidegate.assets.keys import LakeNames
from tidegate.assets.runs.tags import TRIGGER_TAG
from tidegate.platform.cloud.requirements import WantedResources
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.definitions import build_definitions
from tidegate.platform.intake.dealer import Dealer
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.collected_rows import collect_rows
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.local.provision import Clients, provision
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.query.query_tables import asked_tables
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource

_SCHEMAS = ("bronze", "silver", "ledger")


class TestLake:
    """A separate lake for one test.

    Args:
        stack: the running local stack.
        folder: folder for the lake.yaml.
        name: unique among the lakes of the stack; part of the names of its buckets and queue.
        tables: the `tables` of its lake.yaml. `prefix: orders/` stands for that folder of the landing bucket, and the
            folder `orders/` of an `output` for that of the output bucket. The name of the lake is appended to the name
            of a row queue.
        more: additional fields of its lake.yaml. `lake: {name: sales}` gives it a name in Dagster.
    """

    __test__ = False  # the name begins like that of a test

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
        self.output_bucket = f"output-{name}"
        self.path = folder / "lake.yaml"
        full = [self._place_table(table, name) for table in tables]
        body = {
            "queues": [{"url": stack.aws.queue_url(queue)}],
            "buckets": [self.bucket],
            "window": 0,
            "intake": {"seconds": 10, "threads": 2, "every": 1},
            "tables": full,
            **more,
        }
        body["lake"] = {"root": f"s3://{self.lake_bucket}/lake", **more.get("lake", {})}
        self.path.write_text(yaml.safe_dump(body, sort_keys=False))
        self.clients: Clients = stack.clients()
        self.config: LakeConfig = load_lake(self.path)
        provision(self.clients, WantedResources.from_config(self.config))

    @cached_property
    def resource(self) -> LakeResource:
        """The resource for assets and sensors."""
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
        """The lake, opened for reading without Dagster.

        It uses the session of the runs of this process, because a new session would compile all plans again, for
        seconds.
        """
        return self.resource.open()

    @cached_property
    def definitions(self) -> dg.Definitions:
        """Returns the definitions of the lake, as in the code location."""
        return build_definitions(self.config, self.resource)

    def spec(self, name: str) -> TableSpec:
        """Return the configuration of a table."""
        return next(spec for spec in self.config.tables if spec.name == name)

    def key(self, name: str) -> str:
        """Return the key of a table, given its SQL name, or its folder if it is not configured."""
        for spec in self.config.tables:
            if spec.name == name:
                return spec.table_key.encode()
        return TableKey(self.bucket, f"{name.rstrip('/')}/").encode()

    def put(self, key: str, body: bytes | str) -> None:
        """Put an object into the landing bucket. S3 notifies the queue."""
        self.clients.s3.put_object(Bucket=self.bucket, Key=key, Body=body.encode() if isinstance(body, str) else body)

    def delete(self, key: str) -> None:
        """Delete an object of the landing bucket. S3 notifies the queue."""
        self.clients.s3.delete_object(Bucket=self.bucket, Key=key)

    def intake(self) -> IntakeResult:
        """Drain the queue into the inbox, as the sensor does.

        Raises:
            Exception: the error of a step of the intake.
        """
        taken = take_in(self.lake)
        Dealer().deal(self.lake, time.time())
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
        """Materialize an asset, with an instance of Dagster for this run.

        Args:
            asset: `bronze`, `silver/<table>` or another key, as `storage/<table>_cost`.
            table: for bronze, SQL name or folder of the table whose partition is materialized.
            tags: tags of the run.
            from_inbox: process only the inbox, as a run that the sensor requested; otherwise the prefix is listed too.
            raise_on_error: raise the error of the asset.
        """
        found = self.definitions.resolve_asset_graph().assets_def_for_key(dg.AssetKey.from_user_string(asset))
        partition = self.key(table) if table else None
        with dg.DagsterInstance.ephemeral() as instance:
            if partition:
                instance.add_dynamic_partitions(LakeNames.from_config(self.config).name("tables"), [partition])
            try:
                return dg.materialize(
                    [found],
                    partition_key=partition,
                    instance=instance,
                    tags={**({TRIGGER_TAG: "sensor"} if from_inbox else {}), **(tags or {})},
                    raise_on_error=raise_on_error,
                )
            except dg.Failure as failure:
                # Dagster's page shows the failure. A test knows the error.
                raise failure.__cause__ or failure from None

    def _place_table(self, table: Mapping[str, Any], lake: str) -> dict[str, Any]:
        if "row_queue" in table:
            return {**table, "row_queue": {**table["row_queue"], "name": f"{table['row_queue']['name']}-{lake}"}}
        placed = {**table, "prefix": _uri(self.bucket, table["prefix"])}
        if export := table.get("silver", {}).get("export"):
            folder = _uri(self.output_bucket, export["folder"])
            placed["silver"] = {**table["silver"], "export": {**export, "folder": folder}}
        if output := table.get("output"):
            placed["output"] = {**output, "folder": _uri(self.output_bucket, output["folder"])}
        return placed

    def sql(self, query: str) -> list[Row]:
        """Run a query on the shared Spark server, after the tables of this lake that it names got their names.

        Returns the rows. If one has a time that Python does not have, every time of them is text.
        """
        asked = asked_tables(query)
        if asked is None or any(schema.startswith("lake") for schema, _ in asked):
            # The views of `lake` read the ledgers of all tables. To make them costs more than most queries.
            SqlNames(self.lake).name_tables()
        else:
            SqlNames(self.lake).name_queried_tables({name for schema, name in asked if schema in _SCHEMAS})
        return collect_rows(self.lake.delta.session.sql(query))


def _uri(bucket: str, prefix: str) -> str:
    return prefix if S3Address.names(prefix) else S3Address(bucket, prefix).s3
