"""The lake: its configuration and every handle that working on it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TypeVar

from pyspark.sql import SparkSession

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.drift import drift
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.file_format import format_of, mode_of
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.discovery import discovered_table
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.cloudwatch import CloudWatch
from tidegate.platform.lake.aws.glue import Glue
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.aws.sqs import Queue, queue_urls
from tidegate.platform.lake.forwarding.destinations import Destinations
from tidegate.platform.lake.lake_root.after_notes import AfterNotes
from tidegate.platform.lake.lake_root.batches import Batches
from tidegate.platform.lake.lake_root.inbox import TableInbox
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.lake_root.waiting_notes import WaitingSignals
from tidegate.platform.lake.ledger import Ledger
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.provider import SparkProvider
from tidegate.platform.lake.suppression import Suppression, suppression
from tidegate.platform.lake.threads import parallel_outcomes

_S = TypeVar("_S")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Table:
    """One bronze table: its key, its configuration, its birth, and the handles that are its own.

    Attributes:
        lake: the lake that it is a table of.
        table_key: the table key, encoded: Dagster's partition key.
        spec: its configuration, or the one that discovery makes for the prefix.
        birth: its birth record; None until the first batch is about to be decided.
        batches: the batches of this generation.
        ledger: the ledger of this generation.
    """

    lake: Lake = field(repr=False, compare=False)
    key: TableKey
    table_key: str
    spec: TableSpec
    birth: Birth | None
    batches: Batches
    ledger: Ledger

    @property
    def inbox(self) -> TableInbox:
        """Its hints that wait."""
        return self.lake.store.inbox.table_inbox(self.table_key)

    @property
    def after_notes(self) -> AfterNotes:
        """Its files that wait for after-load."""
        return self.lake.store.after_notes(self.table_key)

    @property
    def waiting_signals(self) -> WaitingSignals:
        """Its completion signals that wait for a part."""
        return self.lake.store.waiting_signals(self.table_key)

    @property
    def source(self) -> Bucket:
        """The bucket of its files."""
        return Bucket(self.lake.store.objects, self.key.bucket)

    @property
    def delta(self) -> Delta:
        """The door to tables."""
        return self.lake.delta

    def reopen(self) -> Table:
        """Return the table as it is now: it may have been born since."""
        return self.lake.table(self.table_key)


class Lake:
    """Handles on one lake.

    Args:
        queues: all queues of the configuration, queues of events first.
        cloudwatch: publishes the lake's metrics; None if they are not published.
        destinations: returns the topics and queues of the routes; None if the lake has no routes.
        environ: may have the secret of the suppression list; None takes the environment of this process.
        catalog: the catalog that has the tables; None if lake.yaml names none.
    """

    def __init__(
        self,
        config: LakeConfig,
        store: LakeStore,
        delta: Delta,
        queues: list[Queue],
        cloudwatch: CloudWatch | None = None,
        destinations: Destinations | None = None,
        environ: Mapping[str, str] | None = None,
        catalog: Glue | None = None,
    ) -> None:
        self.config = config
        self.store = store
        self.delta = delta
        self.queues = queues
        self.cloudwatch = cloudwatch
        self.destinations = destinations
        self.catalog = catalog
        self.environ = os.environ if environ is None else environ

    @cached_property
    def id(self) -> str:
        """The lake's UUID."""
        return self.store.identity.lake

    def table(self, table_key: str) -> Table:
        """Return a table by its key.

        Raises:
            ValueError: not a table key.
        """
        key = TableKey.decode(table_key)
        birth = self.store.births.read(table_key)
        spec = self.spec(key)
        folder = (birth.generation_folder if birth else "") or table_key
        ledger = Ledger(self.delta, self.store.uri("ledger", folder), table_key)
        return Table(self, key, table_key, spec, birth, self.store.batches(folder), ledger)

    def spec(self, key: TableKey) -> TableSpec:
        """Return the configuration of a table, or the one that discovery makes for its prefix."""
        # A discovered table has no configured format: each file's ending says its own.
        return self.config.table_for(key) or discovered_table(key, None, self.config)

    def ensure_birth(self, table: Table, first_key: str) -> Birth:
        """Choose the table's generation and mode at its first batch. Returns the birth record that exists afterwards.

        Args:
            first_key: a key of the first batch. Its ending gives the mode if the configuration does not.
        """
        if table.birth:
            return table.birth
        registered = table.spec.registers
        if registered is None:
            format = format_of(first_key)
            registered = (format is None or mode_of(format) == "register") and not self._shares_its_prefix(table.key)
        return self.store.births.ensure_birth(
            table.table_key, table.spec.name, registered=registered, output=table.spec.output_mode
        )

    def _shares_its_prefix(self, key: TableKey) -> bool:
        """Return whether a discovered table is inside another table, or has one inside.

        Commands of Delta treat all files below a registered table as the table's own. Of two tables that are born at
        once, one finds the other in the inbox: hints stay there until the first batch is recorded.
        """
        if self.config.table_for(key) is not None:
            return False
        others = {*map(TableKey.decode, self.store.table_keys()), *self.config.keys()} - {key}
        return any(
            other.bucket == key.bucket and (other.prefix.startswith(key.prefix) or key.prefix.startswith(other.prefix))
            for other in others
        )

    def suppression(self, spec: TableSpec) -> Suppression | None:
        """Return the subjects whose rows never enter a table again, as the lake has them now. None if there are none.

        Raises:
            SecretProblem: the list cannot be applied, because its secret is missing or another.
            StoreError: S3 did not answer.
        """
        return suppression(self.config, self.store, self.environ, spec)

    def lost_name(self, table: Table) -> str | None:
        """Return why a table has no SQL name, with the remedy. None if it has one.

        It is not in lake.yaml, or no more, and a table of lake.yaml at another prefix was born with its name.
        """
        if table.birth is None or not (taker := self.config.taker_of_name(table.birth.name, table.key)):
            return None
        born = self.store.births.read(taker.table_key.encode())
        if born is None or born.name != table.birth.name:
            return None
        return (
            f"lake.yaml gives its name {born.name} to {taker.prefix}: to query both tables, give that table another "
            f"`name` and {born.starting_over}"
        )

    def drift(self, table: Table) -> list[str]:
        """Return a sentence for each difference of lake.yaml from the table's birth, with the remedy."""
        if table.birth is None:
            return []
        lost = self.lost_name(table)
        found = drift(self.config.table_for(table.key), table.birth, table.batches.birth())
        return [*found, *([f"{table.table_key} has no SQL name: {lost}"] if lost else [])]

    def quarantining_tables(self) -> list[Table]:
        """Return the tables that may have quarantined objects, by key. The ledgers of the others need not be read."""
        born = sorted(self.store.births.tables())
        found = [table for table in parallel_outcomes(self.table, born) if isinstance(table, Table) and table.birth]
        may = self.delta.may_have_quarantined([table.ledger.location for table in found])
        return [table for table, may_have in zip(found, may, strict=True) if may_have]


def open_lake(
    config: LakeConfig,
    aws: Aws,
    server: SparkProvider,
    connect: Callable[[], SparkSession],
    environ: Mapping[str, str] | None = None,
) -> Lake:
    """Handle on a lake.

    Args:
        aws: clients.
        server: has the Spark Connect server, which is asked for at the first use of Spark.
        connect: opens the Spark session at its first use.
        environ: may have the secret of the suppression list; None takes the environment of this process.
    """
    store = LakeStore(ObjectStore(aws.client("s3")), config.lake.root)

    sqs = cache(aws.queues)
    queues = []
    for spec in config.every_queue:
        client = sqs(spec.region)
        queues.append(Queue(client, spec.url or spec.name, queue_urls(aws, client.meta.endpoint_url)))
    # No retries: without a route to CloudWatch, for example in a private network, they would take a whole tick, and the
    # next measurement comes in minutes.
    once = replace(aws, max_attempts=0)
    cloudwatch = CloudWatch(lambda: once.client("cloudwatch")) if config.metrics == "cloudwatch" else None
    destinations = Destinations(config, aws, lambda: store.identity.lake, store.objects) if config.routes else None
    catalog = Glue(lambda: aws.quick_client("glue")) if config.catalog else None
    return Lake(config, store, Delta(server, connect), queues, cloudwatch, destinations, environ, catalog)
