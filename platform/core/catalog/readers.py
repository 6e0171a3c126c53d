"""Which engines can read a Delta table, derived from the features of its protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from tidegate.platform.core.schema.table_schema import TableSchema

#: Features that a reader need not know: they bind writers only.
_WRITERS_ONLY = frozenset(
    {
        "allowColumnDefaults",
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "checkpointProtection",
        "clustering",
        "coordinatedCommits-preview",
        "domainMetadata",
        "generatedColumns",
        "icebergCompatV1",
        "icebergCompatV2",
        "icebergCompatV3",
        "icebergWriterCompatV1",
        "icebergWriterCompatV3",
        "identityColumns",
        "inCommitTimestamp",
        "inCommitTimestamp-preview",
        "invariants",
        "materializePartitionColumns",
        "rowTracking",
    }
)
_MAPPED, _VECTORS, _NTZ = "columnMapping", "deletionVectors", "timestampNtz"
_WIDENED, _VARIANT = ("typeWidening", "typeWidening-preview"), ("variantType", "variantType-preview")
_CHECKPOINTS, _VACUUM = "v2Checkpoint", "vacuumProtocolCheck"


class Reader(Enum):
    """An engine that reads Delta tables.

    Attributes:
        title: its name, with the version that the features are those of.
        features: features of tables that it reads.
    """

    SPARK = (
        "Spark 4.2 with Delta 4.4",
        (_MAPPED, _VECTORS, _NTZ, *_WIDENED, *_VARIANT, _CHECKPOINTS, _VACUUM),
    )
    DELTA_RS = ("delta-rs 1.6.6", (_MAPPED, _VECTORS, _NTZ, *_VARIANT, _CHECKPOINTS))
    POLARS = ("Polars 2.1", (_VECTORS, _NTZ))
    DUCKDB = ("DuckDB 1.5.5", (_MAPPED, _VECTORS, _NTZ, *_WIDENED, *_VARIANT, _CHECKPOINTS, _VACUUM))
    ATHENA = ("Athena engine 3", (_MAPPED, _VECTORS, _NTZ))
    TRINO = ("Trino", (_MAPPED, _VECTORS, _NTZ, *_WIDENED, *_VARIANT, _CHECKPOINTS, _VACUUM))

    def __init__(self, title: str, features: tuple[str, ...]) -> None:
        self.title = title
        self.features = frozenset(features)


@dataclass(frozen=True)
class Readable:
    """Whether one engine reads one table.

    Attributes:
        reader: the engine.
        forbids: features of the table that the engine does not read, in order. Empty: it reads the table.
    """

    reader: Reader
    forbids: tuple[str, ...]

    @property
    def reads(self) -> bool:
        """Whether the engine reads the table."""
        return not self.forbids

    def __str__(self) -> str:
        return f"{self.reader.title}: " + ("yes" if self.reads else f"no, because of {', '.join(self.forbids)}")


def readers_of(features: Iterable[str], schema: TableSchema) -> list[Readable]:
    """Return what each engine says to a table. A feature that is not known here forbids every engine except Spark.

    Args:
        features: names of the features of the table's protocol.
        schema: the columns of the table.
    """
    needed = sorted(set(features) - _WRITERS_ONLY)

    def forbids(reader: Reader) -> Iterator[str]:
        if reader is not Reader.SPARK:
            yield from (name for name in needed if name not in reader.features)
        if reader is Reader.DUCKDB and _loses_partitions(schema):
            yield f"{_MAPPED} with partitions"

    return [Readable(reader, tuple(forbids(reader))) for reader in Reader]


def _loses_partitions(schema: TableSchema) -> bool:
    """Return whether DuckDB reads NULL for each partition column, without an error: the files have other names of
    columns.
    """
    return bool(schema.partitions) and any(field.physical not in (None, field.name) for field in schema.columns)
