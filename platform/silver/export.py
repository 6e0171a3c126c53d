"""Writes the changes of a silver table as files, each version's changes exactly once.

For each version of the table that is not exported yet::

    write      files in a folder of this attempt, which nothing names
    manifest   a manifest with the name of the version, if there is none yet: from here on the changes are exported
    mark       the lake knows that the version is done

An attempt that dies leaves files that no manifest names. Of two attempts for one version the first manifest counts, and
the other attempt deletes its own files.

If Delta does not have the changes of a version any more, all rows of the present version are exported, and their
manifest says that they replace what came before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from ulid import ULID

from tidegate.platform.core.config.output import ExportSpec
from tidegate.platform.core.config.silver_columns import CHANGE_COLUMNS, CHANGE_TYPE, COMMIT_VERSION, KEY, own_columns
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.column_reference import path_of, quote_path
from tidegate.platform.core.schema.column_types import fold_name, quote_name
from tidegate.platform.core.schema.exact_json import EXACT_TIMES
from tidegate.platform.core.seams import seam
from tidegate.platform.core.silver.change_rows import (
    changes_query,
    exported_columns,
    remaining_change_type,
    snapshot_query,
)
from tidegate.platform.core.silver.export_manifest import (
    ExportedFile,
    ExportManifest,
    ExportMark,
    exported_rows,
    manifest_name,
)
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.silver_suppression import columns_of_silver, silver_suppression
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.properties import set_properties
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.spark.session import override_settings, select
from tidegate.platform.silver.value_origins import without_others_values

#: The seams of an export, in order. Each is right after the step that it is named for.
SEAMS = ("export-write", "export-manifest", "export-mark")

#: Versions of one run. The rest is left to the next run.
MAX_VERSIONS = 100
_FEED = "delta.enableChangeDataFeed"
#: RFC 4180, with the spaces of each value and all digits of a time.
_CSV = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
    **EXACT_TIMES,
}
#: Delta's feed refuses a version of before a column became wider. Columns of silver only grow.
_FEED_SETTINGS = {
    "spark.databricks.delta.changeDataFeed.unsafeBatchReadOnIncompatibleSchemaChanges.enabled": "true",
}


@dataclass(frozen=True)
class ExportResult:
    """What a run exported.

    Attributes:
        manifests: number of manifests that it wrote.
        rows: number of their rows by change type.
        behind: versions that are not exported yet.
    """

    manifests: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    behind: int = 0


def export_changes(lake: Lake, spec: TableSpec) -> ExportResult:
    """Export the changes of a silver table since the last export. The first export has all of its rows.

    Raises:
        ValueError: the mark of the export is damaged.
        StoreError: S3 did not answer.
        PySparkException: Spark failed.
    """
    export = spec.silver.export if spec.silver else None
    location = lake.store.uri("silver", spec.name)
    state = lake.delta.table_state(location)
    if export is None or not state.has_columns or state.table_id is None:
        return ExportResult()
    if clash := [field.name for field in state.schema.fields if fold_name(field.name) in CHANGE_COLUMNS]:
        # Delta would refuse the feed, with the advice to do without it.
        raise DataError(
            f"silver.{spec.name} has a column {clash[0]}, and its changes would have another one of that name: leave "
            "it out by `rename` or `except_columns` of `silver`, and drop it from the silver table (ALTER TABLE … DROP "
            "COLUMN, which needs delta.columnMapping.mode = name)"
        )
    if state.properties.get(_FEED) != "true":
        set_properties(lake.delta.session, location, {_FEED: "true"})
        state = lake.delta.table_state(location)
    table_id = state.table_id or ""
    mark = lake.store.export_marks.ensure(spec.name, table_id, state.version, export.folder)
    rows: dict[str, int] = {}
    manifests = 0
    for _ in range(MAX_VERSIONS):
        version = mark.start if mark.done is None else mark.done + 1
        if version > state.version:
            break
        try:
            counts = _Version(lake, spec, export, state, location, mark, version).export()
        except PySparkException:
            # The error does not show it: a file that VACUUM has deleted fails as any other read in a task.
            is_gone = mark.done is None or not lake.delta.upkeep.has_changes(location, version)
            if mark.start == state.version or not is_gone:
                raise
            mark = ExportMark(state.version, last=mark.last, folder=mark.folder)
            lake.store.export_marks.write(spec.name, table_id, mark)
            continue
        mark = replace(mark, done=version, last=mark.last if counts is None else version, folder=export.folder)
        lake.store.export_marks.write(spec.name, table_id, mark)
        seam("export-mark")
        if counts is not None:
            manifests += 1
            rows = {kind: rows.get(kind, 0) + counts.get(kind, 0) for kind in {*rows, *counts}}
    return ExportResult(manifests, rows, state.version - (mark.start - 1 if mark.done is None else mark.done))


def is_behind(delta: Delta, store: LakeStore, spec: TableSpec) -> bool:
    """Return whether a silver table with `export` has versions whose changes are not exported.

    Raises:
        StoreError: S3 did not answer.
    """
    if not spec.exports:
        return False
    state = delta.table_state(store.uri("silver", spec.name))
    if not state.has_columns or state.table_id is None:
        return False
    try:
        mark = store.export_marks.get(spec.name, state.table_id)
    except ValueError:
        return True  # The check of the next run says what is wrong with the mark.
    return mark is None or mark.done is None or mark.done < state.version


@dataclass(frozen=True)
class _Version:
    """The export of one version."""

    lake: Lake
    spec: TableSpec
    to: ExportSpec
    state: TableState
    location: str
    mark: ExportMark
    version: int

    def export(self) -> dict[str, int] | None:
        """Export the changes. Returns the number of rows by change type. None if the version has no changes."""
        if (known := self._read_counts()) is not None:
            return known
        if self.mark.folder != self.to.folder:
            # From here on, no other folder gets a manifest of this version.
            self.lake.store.export_marks.write(
                self.spec.name, self.state.table_id or "", replace(self.mark, folder=self.to.folder)
            )
        folder = f"changes/{self.version:020}-{ULID()}"
        with override_settings(self.lake.delta.session, _FEED_SETTINGS):
            counts = self._write(folder)
        seam("export-write")
        # That nothing is left of what was exported before, a manifest without rows says.
        if not counts and not (self.is_snapshot and self.mark.last is not None):
            self._delete(folder)
            return None
        manifest = ExportManifest(
            f"silver.{self.spec.name}",
            self.state.table_id or "",
            self.version,
            self.mark.last,
            self.is_snapshot,
            self.to.format,
            counts,
            self._files(folder),
        )
        self._put(manifest, folder)
        seam("export-manifest")
        return counts

    @property
    def is_snapshot(self) -> bool:
        """Whether the export is that of all rows."""
        return self.mark.done is None

    def _read_counts(self) -> dict[str, int] | None:
        """Return the counts of the manifest that an earlier attempt has put, before it died. None if there is none.

        The attempt may have put it into the folder that `lake.yaml` named then.
        """
        for folder in dict.fromkeys((self.to.folder, self.mark.folder or self.to.folder)):
            place = self._place(self._manifest, folder)
            found = self.lake.store.objects.get(*place)
            if found is not None:
                return exported_rows(found, S3Address(*place).s3)
        return None

    def _rows(self) -> DataFrame:
        own = own_columns(self.spec.silver)
        if self.is_snapshot:
            query = snapshot_query(self.location, self.version, own)
        else:
            query = changes_query(self.location, self.version, self._keys(), own)
        rows = select(self.lake.delta.session, query)
        # The table may have got columns since.
        present = frozenset(rows.columns)
        fields = [field for field in self.state.schema.fields if field.name in present]
        suppression = self.lake.suppression(self.spec)
        if suppression is not None:
            # Forgetting deletes rows, too: the delete would have the values of the forgotten person.
            table = self.lake.table(self.spec.table_key.encode())
            known = columns_of_silver(self.lake.delta, table.birth, self.state)
            persons = silver_suppression(self.lake.store, table.spec, suppression, self.state, known)
            # A row of another person may have a value of theirs, before forgetting has emptied it.
            rows = without_others_values(persons.exclude_suppressed(rows, fields), fields, persons)
            rows = rows.withColumn(CHANGE_TYPE, F.expr(remaining_change_type(self._keys())))
        columns = exported_columns(fields, own, is_text=self.to.format == "csv")
        return rows.selectExpr(CHANGE_TYPE, COMMIT_VERSION, *columns)

    def _keys(self) -> list[str]:
        silver, fields = self.spec.silver, self.state.schema.fields
        if silver is None or KEY in own_columns(silver):
            return [quote_name(KEY)]
        paths = [path_of(key, fields) for key in silver.keys]
        return [quote_path(path) for path in paths if path]

    def _write(self, folder: str) -> dict[str, int]:
        session, where = self.lake.delta.session, self._place(folder).s3a
        if self.to.format == "csv":
            self._rows().write.options(**_CSV).csv(where)
            written = session.read.options(**_CSV, multiLine="true").csv(where)
        else:
            self._rows().write.parquet(where)
            written = session.read.parquet(where)
        return {row[0]: row[1] for row in written.groupBy(CHANGE_TYPE).count().collect()}

    def _files(self, folder: str) -> tuple[ExportedFile, ...]:
        bucket, prefix = self._place(folder)
        found = self.lake.store.objects.list_under(bucket, f"{prefix}/")
        return tuple(
            ExportedFile(item.key, item.size, item.etag)
            for item in found
            if item.key.rpartition("/")[2].startswith("part-")
        )

    def _put(self, manifest: ExportManifest, folder: str) -> None:
        """Put the manifest, unless the version has one. Then the files of this attempt are deleted."""
        bucket, key = self._place(self._manifest)
        objects, body = self.lake.store.objects, manifest.to_json()
        # A retry after a lost reply finds the manifest that it has put itself.
        if not objects.put_if_absent(bucket, key, body) and objects.get(bucket, key) != body.encode():
            self._delete(folder)

    def _delete(self, folder: str) -> None:
        bucket, prefix = self._place(folder)
        objects = self.lake.store.objects
        objects.delete(bucket, [item.key for item in objects.list_under(bucket, f"{prefix}/")])

    @property
    def _manifest(self) -> str:
        return f"manifests/{manifest_name(self.version)}"

    def _place(self, name: str, within: str | None = None) -> S3Address:
        bucket, folder = S3Address.parse(within or self.to.folder)
        return S3Address(bucket, f"{folder.rstrip('/')}/{self.state.table_id}/{name}".lstrip("/"))
