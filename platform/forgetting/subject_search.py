"""Counts, by place, what a lake has of subjects. Nothing is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import functions as F

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.forgetting.bronze_rows import held_files
from tidegate.platform.forgetting.kept_objects import kept_objects
from tidegate.platform.forgetting.silver_rows import can_search, rows_in_silver
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.suppression import Suppression


@dataclass(frozen=True)
class Found:
    """What a table, and what belongs to it, has of subjects.

    Attributes:
        table: SQL name.
        bronze: rows.
        bronze_files: data files that have them.
        bronze_bytes: bytes of these files.
        silver: rows and tombstones.
        kept: lines and messages in objects of the lake, by folder.
        sources: objects of the producer, or of the row queue, that the rows of bronze came from. They are not changed.
    """

    table: str
    bronze: int
    bronze_files: int
    bronze_bytes: int
    silver: int
    kept: dict[str, int]
    sources: int

    @property
    def total(self) -> int:
        """Number of rows, lines and messages."""
        return self.bronze + self.silver + sum(self.kept.values())


def tables_of(config: LakeConfig, kind: str) -> list[TableSpec]:
    """Return the tables with a kind of subject."""
    return [spec for spec in config.tables if spec.subject_kind == kind]


def find(lake: Lake, kind: str, suppression_of: Callable[[TableSpec], Suppression]) -> list[Found]:
    """Count what the tables of a kind have of subjects.

    Args:
        kind: kind of the subjects.
        suppression_of: returns the subjects to look for, with the columns of a table.

    Raises:
        SubjectProblem: a table does not show whose its rows are.
        StoreError: S3 did not answer.
    """
    return [
        _find_in_table(lake.config, lake.delta, lake.store, lake.table(spec.table_key.encode()), suppression_of(spec))
        for spec in tables_of(lake.config, kind)
    ]


def _find_in_table(config: LakeConfig, delta: Delta, store: LakeStore, table: Table, suppression: Suppression) -> Found:
    files = held_files(table.spec, table.birth, table.delta, suppression)
    kept: Counter[str] = Counter()
    for kept_object in kept_objects(config, store, table, suppression):
        kept[kept_object.place] += kept_object.found
    return Found(
        table.spec.name,
        sum(file.rows for file in files),
        len(files),
        sum(file.size for file in files),
        rows_in_silver(delta, store, table.spec, table.birth, suppression),
        dict(kept),
        _sources(table.birth, table.delta, suppression) if files else 0,
    )


def _sources(birth: Birth | None, delta: Delta, suppression: Suppression) -> int:
    if birth is None:
        return 0
    rows = delta.session.read.format("delta").load(birth.location)
    fields = delta.table_state(birth.location).schema.fields
    (row,) = suppression.select_suppressed(rows, fields).agg(F.count_distinct("_source_path", "_source_etag")).collect()
    return int(row[0])


def unsearched_folders(lake: Lake) -> list[str]:
    """Return the folders of tables of which nobody can say which of their columns is a subject.

    They are relative to the lake root: folders of silver and bronze, of row queues, of rows in quarantine, and of
    copies that runs made. `lake.yaml` does not have the table (any more): after a new `name` or `prefix` the earlier
    table is among them. Or bronze has no batch yet, and the silver table alone does not show it.

    Raises:
        StoreError: S3 did not answer.
    """
    store = lake.store

    def folders(*parts: str) -> list[str]:
        return store.objects.folders(store.bucket, store.key(*parts, ""))

    names = folders("silver")
    known, keys = {spec.name for spec in lake.config.tables}, {spec.table_key.encode() for spec in lake.config.tables}
    bronze = (f"bronze/{key}" for key in store.births.tables() if key not in keys)
    unborn = (f"silver/{spec.name}" for spec in lake.config.tables if spec.name in names and not _shows(lake, spec))
    silver = (f"silver/{name}" for name in names if name not in known)
    queued = (f"rows/{name}" for name in folders("rows") if name not in known)
    bad = (f"quarantine/rows/{key}" for key in folders("quarantine", "rows") if key not in keys)
    copies = (f"staging/{key}" for key in folders("staging") if key not in keys)
    return sorted((*silver, *bronze, *unborn, *queued, *bad, *copies))


def _shows(lake: Lake, spec: TableSpec) -> bool:
    if spec.personal is None or not spec.personal.subject:
        return True
    table = lake.table(spec.table_key.encode())
    return table.birth is not None or can_search(lake.delta, lake.store, table.spec, table.birth, spec.personal.subject)


def count_total(found: Sequence[Found]) -> int:
    """Return the number of rows, lines and messages of all tables."""
    return sum(rows.total for rows in found)
