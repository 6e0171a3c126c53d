"""The pending merge of a silver table: the batches of bronze after its mark, up to the last one in the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import BadSetting, DataError
from tidegate.platform.core.silver.recorded_options import read_after
from tidegate.platform.core.table_properties import require_known_properties
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.ledger import Ledger, state_change_condition
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.results import TableState

#: A property that an operator sets on a bronze table to accept a change that Tidegate did not make.
_ACKNOWLEDGED = "tidegate.acknowledged_version"


class BronzeGone(DataError):
    """The bronze table does not exist, though its ledger has batches."""


class Aim(Enum):
    """What a merge is asked to do. `MergeMode` follows from it, from the changes and from what silver has."""

    #: Silver gets what the batches after its mark bring.
    WAITING = auto()
    #: Silver gets the rows of all of bronze again, and loses its other rows of this bronze.
    REREAD = auto()
    #: Silver becomes what bronze gives now, whatever it holds.
    REBUILD = auto()
    #: Keys with a row of batch `since` or later become what bronze gives now.
    REBUILD_SINCE = auto()

    @property
    def is_rebuild(self) -> bool:
        """Whether the merge reads bronze from its first batch on, because somebody asked for it."""
        return self in (Aim.REBUILD, Aim.REBUILD_SINCE)


@dataclass(frozen=True)
class RecordedLedger:
    """The ledger of a bronze table up to a batch.

    Attributes:
        version: Delta version of the ledger, which has the batch.
        n: the batch.
    """

    ledger: Ledger
    version: int
    n: int

    def rows(self, delta: Delta, after: int, upto: int | None = None) -> DataFrame:
        """Return the rows of the batches after `after` up to `upto`. None: up to batch `n`."""
        rows = delta.session.read.format("delta").option("versionAsOf", self.version).load(self.ledger.location)
        return rows.where((F.col("n") > after) & (F.col("n") <= (self.n if upto is None else upto)))

    def state_changes(self, delta: Delta, after: int) -> DataFrame:
        """Return the rows of the batches after `after` that change a key's state."""
        return self.rows(delta, after).where(state_change_condition())


@dataclass(frozen=True)
class PendingMerge:
    """What one merge starts from.

    Attributes:
        table: the bronze table.
        spec: `silver` of the table in `lake.yaml`.
        location: `s3a://` URI of the silver table.
        silver: state of the silver table, which may not exist yet.
        mark: last batch that silver holds. None if silver holds no batch of this bronze table and generation.
        ledger: the ledger of the bronze table, up to the batch up to which silver is merged.
        app_id: application id of silver's transactions. It contains the id and the generation of the bronze table, so
            silver has no mark for another table or generation.
        settled: what this batch and earlier ones replaced in bronze, or removed from it, is not in silver, because it
            had left bronze before the first merge read bronze. 0 if nothing is known.
        aim: what the merge is asked to do.
        since: the batch of `REBUILD_SINCE`; None with every other aim.
    """

    table: Table
    spec: SilverSpec
    location: str
    bronze: TableState
    silver: TableState
    mark: int | None
    ledger: RecordedLedger
    app_id: str
    settled: int = 0
    aim: Aim = Aim.WAITING
    since: int | None = None

    @property
    def n(self) -> int:
        """Last batch up to which silver is merged."""
        return self.ledger.n

    @property
    def bronze_location(self) -> str:
        """`s3a://` URI of the bronze table."""
        if self.table.birth is None:
            raise AssertionError("a table with batches has been born")
        return self.table.birth.location


def pending_merge(lake: Lake, spec: TableSpec) -> PendingMerge | None:
    """Return what is left to merge. None if silver holds every batch that the ledger has recorded.

    The last batch is that of the ledger. The bronze table may have a later one, because the ledger follows the commit.

    Raises:
        ValueError: the table has no `silver` in `lake.yaml`.
        BronzeGone: the bronze table does not exist, though its ledger has batches.
    """
    work = merge_state(lake, spec)
    return None if work is None or (work.mark is not None and work.mark >= work.n) else work


def merge_state(lake: Lake, spec: TableSpec) -> PendingMerge | None:
    """Return the tables of a merge, whether anything is left to merge or not. None if bronze has no table yet.

    Raises:
        BadSetting: the table has no `silver` in `lake.yaml`.
        BronzeGone: the bronze table does not exist, though its ledger has batches.
        DataError: the log of the bronze table has files of elsewhere.
        NewerVersionError: a newer version wrote one of the tables.
    """
    if spec.silver is None:
        raise BadSetting(f"table {spec.name} has no `silver` in lake.yaml")
    table = lake.table(spec.table_key.encode())
    if table.birth is None:
        return None
    version, n = table.ledger.clock()
    if n == 0:
        return None
    bronze = lake.delta.table_state(table.birth.location)
    if not bronze.exists:
        header = table.ledger.header(version, n)
        if header is None or header.bronze_version < 0:
            return None  # every file so far was refused
        raise BronzeGone(
            f"bronze.{table.birth.name} at {table.birth.location} is gone, though its ledger has {n} batches: restore "
            "its log, or do what the error of its bronze run says. Silver is not changed"
        )
    bronze.require_own_files()
    require_known_properties(bronze.properties, f"bronze.{table.birth.name}")
    location = lake.store.uri("silver", spec.name)
    app_id = f"tidegate:{lake.id}:silver:{spec.name}:{bronze.table_id}:{table.birth.generation}"
    if acknowledged := bronze.properties.get(_ACKNOWLEDGED):
        app_id += f":{acknowledged}"  # after a RESTORE it holds other rows under the same id
    silver = lake.delta.table_state(location, app_id)
    silver.require_served_features(f"silver.{spec.name}", table.birth.starting_over)
    require_known_properties(silver.properties, f"silver.{spec.name}")
    settled = read_after(silver.properties, app_id) or 0
    ledger = RecordedLedger(table.ledger, version, n)
    return PendingMerge(table, spec.silver, location, bronze, silver, silver.txn, ledger, app_id, settled)
