"""The state of Delta tables, all commits of bronze and all merges of silver."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from pyspark.sql import Row, SparkSession

from tidegate.platform.core.bronze.batch import Add, Remove
from tidegate.platform.core.config.commits import Commits
from tidegate.platform.core.schema.column_types import Field, field_from_json
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.aws.commit_table import CommitTableAddress
from tidegate.platform.lake.spark.catalog import SqlCatalog
from tidegate.platform.lake.spark.log_stores import LOG_STORE_CLASS, LOG_STORE_S3A, other_log_store
from tidegate.platform.lake.spark.output_writer import OutputWriter
from tidegate.platform.lake.spark.procedures import Procedures
from tidegate.platform.lake.spark.provider import SparkProvider
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.results import (
    BatchRefusal,
    CommitResult,
    CompactionResult,
    LiveEntry,
    LoggedFiles,
    Merge,
    Merging,
    ServerJar,
    TableState,
)
from tidegate.platform.lake.spark.session import apply_settings, override_settings, probe
from tidegate.platform.lake.spark.table_maintenance import (
    CLUSTERED_BYTES,
    FULL_BYTES,
    HIDDEN_SHARE,
    SMALL_BYTES,
    Clustering,
    Upkeep,
)
from tidegate.platform.lake.spark.value_settings import VALUE_SETTINGS

#: The version of a table that the caller has not seen: the server looks at the table's log.
NOT_SEEN = -1

_COMPACTION = {
    "spark.databricks.delta.optimize.minFileSize": str(SMALL_BYTES),
    "spark.databricks.delta.optimize.maxFileSize": str(FULL_BYTES),
    "spark.databricks.delta.optimize.maxDeletedRowsRatio": str(HIDDEN_SHARE),
}

#: Otherwise Spark sorts the rows before their exchange as well, to leave out older rows of a key early. Those are
#: mostly in other files, so the sort is in vain. The session of a handle has it from the start: the setting of a copy
#: of the session would not reach the optimizer, and to set it for each merge took three calls.
_ONE_SORT = {"spark.sql.optimizer.windowGroupLimitThreshold": "-1"}


class Delta:
    """Spark and the procedures of platform/jvm behind typed calls.

    Args:
        server: has the Connect server, and may start it.
        connect: opens the session that this handle uses, on the server that `server` has by then.

    Attributes:
        server: as the argument.
    """

    def __init__(self, server: SparkProvider, connect: Callable[[], SparkSession]) -> None:
        self.server = server
        self._connect = connect
        self._procedures = Procedures(lambda: self.session)
        self.catalog = SqlCatalog(self._procedures)
        self.outputs = OutputWriter(self._procedures)
        self.upkeep = Upkeep(self._procedures, lambda: self.session)

    @property
    def remote(self) -> SparkRemote:
        """The server that this handle uses. It is started if that is what it takes.

        Raises:
            SparkUnreachable: it could not be started.
        """
        return self.server.obtain()

    @cached_property
    def session(self) -> SparkSession:
        """The session. It is opened at first use, after a probe, and has the settings that decide values.

        Raises:
            SparkUnreachable: no server answers.
        """
        probe(self.remote)
        session = self._connect()
        apply_settings(session, {**VALUE_SETTINGS, **_ONE_SORT})
        return session

    def check_session_alive(self) -> None:
        """Check that the session still exists: whether a failure was the query's, or the server is lost.

        Raises:
            SparkUnreachable: no server answers.
            PySparkException: the server was restarted and this handle's session ended.
        """
        probe(self.remote)
        self.session.sql("SELECT 1").collect()

    def component_jars(self) -> dict[str, ServerJar | None]:
        """Return the jars on the server that contain the classes of a commit, by component; None for a missing one."""
        rows = [row.asDict() for row in self._procedures.call("jars")]
        # A jar of an earlier version says no hash.
        return {
            row["component"]: None if row["jar"] is None else ServerJar(row["jar"], row.get("sha256")) for row in rows
        }

    def commit_table(self) -> CommitTableAddress:
        """Return the DynamoDB table that the server's log store uses. The settings of this process play no part."""
        row = self._procedures.call_one("commit_table")
        return CommitTableAddress(
            row["dynamodb_table"], row["region"], row["endpoint"], row["ttl_seconds"], row["possibly_lost"]
        )

    def conf(self, key: str) -> str:
        """Return a setting of the server; empty when not set."""
        return self.session.conf.get(key, "") or ""

    @cached_property
    def log_store(self) -> str:
        """The class that publishes commits on the server; empty when none is set."""
        return self.conf(LOG_STORE_CLASS) or self.conf(LOG_STORE_S3A)

    def other_log_store(self, commits: Commits) -> str | None:
        """Return a sentence if the server commits by another log store than lake.yaml asks for, else None."""
        return other_log_store(self.log_store, commits, of_all=bool(self.conf(LOG_STORE_CLASS)))

    def settle_commits(self, location: str) -> int:
        """Publish or close the pending commit of a table's newest entry in DynamoDB, whatever log store the server has.

        The server creates the DynamoDB table if there is none, unless its settings forbid that.

        Returns:
            The last version of the table's log, -1 if there is none.
        """
        return int(self._procedures.call_one("settle_commits", table=location)["version"])

    def table_state(self, location: str, app_id: str = "", seen: int = NOT_SEEN) -> TableState:
        """Read the state of a table from its log.

        Args:
            location: `s3a://` URI of the table.
            app_id: application whose last txn is returned.
            seen: a version that is present enough, if the server saw it or committed it less than a minute ago.
        """
        row = self._procedures.call_one("table_state", table=location, app_id=app_id, seen=seen)
        return TableState(
            row["version"],
            row["txn"],
            row["table_id"],
            json.loads(row["properties"] or "{}"),
            TableSchema.from_spark(json.loads(row["schema"] or "{}"), json.loads(row["partition_columns"] or "[]")),
            row["num_files"] or 0,
            tuple(json.loads(row["features"])),
            row["refusal"],
        )

    def live_entries(self, location: str, paths: Sequence[str]) -> dict[str, LiveEntry]:
        """Return the live entries of some paths. Paths without a live entry are left out."""
        if not paths:
            return {}
        rows = self._procedures.call("live_files", table=location, paths=json.dumps(list(paths)))
        return {row["path"]: LiveEntry(Remove(row["path"], row["dv_id"]), row["num_records"]) for row in rows}

    def file_columns(self, files: Mapping[str, Any]) -> dict[str, list[Field] | str]:
        """Return the columns that each file declares, by its path; of a file that cannot be read, the reason.

        Args:
            files: of one format whose files declare their columns (`LoadRequest.Group` of platform/jvm).
        """
        return {
            row["path"]: row["problem"] or [field_from_json(field) for field in json.loads(row["schema"])["fields"]]
            for row in self._procedures.call("file_columns", files=json.dumps(files))
        }

    def load(
        self, location: str, files: Mapping[str, Any], schema: TableSchema, bad_rows_folder: str
    ) -> tuple[list[Add], dict[str, dict[str, Any]]]:
        """Read files once and write their good rows as data files in the table's directory, without a commit.

        Args:
            location: `s3a://` URI of the table, which may not exist yet.
            files: the files and how to read them (`LoadRequest` of platform/jvm).
            schema: the columns that the table will have.
            bad_rows_folder: `s3a://` URI of a new folder for the rows that do not fit, as JSON lines with their
                source, etag, reason and text; without such rows it is not made.

        Returns:
            The data files, and the counts of each source file that has rows, by its address.
        """
        rows = self._procedures.call(
            "load_files",
            table=location,
            files=json.dumps(files),
            **_columns(schema),
            partition_columns=json.dumps(schema.partitions),
            bad_rows_folder=bad_rows_folder,
            seen=schema.version,
        )
        adds = [_parse_staged(json.loads(row["action"])) for row in rows if row["action"] is not None]
        return adds, {row["source"]: json.loads(row["counted"]) for row in rows if row["source"] is not None}

    def stage(self, location: str, query: str, schema: TableSchema) -> list[Add]:
        """Write a query's rows as data files in the table's directory, without a commit.

        Args:
            location: `s3a://` URI of the table.
            query: SQL over temporary views of this handle's session.
            schema: the columns that the table will have.
        """
        rows = self._procedures.call(
            "stage_files",
            table=location,
            query=query,
            **_columns(schema),
            partition_columns=json.dumps(schema.partitions),
            seen=schema.version,
        )
        return [_parse_staged(json.loads(row["action"])) for row in rows]

    def refusal(self, location: str, schema: TableSchema) -> str | None:
        """Return why Delta would refuse these columns of a table; None if it accepts them. Changes nothing.

        Args:
            location: `s3a://` URI of the table, which may not exist yet.
            schema: the columns that the table would have.
        """
        row = self._procedures.call_one(
            "check_columns",
            table=location,
            **_columns(schema),
            partition_columns=json.dumps(schema.partitions),
            seen=schema.version,
        )
        return None if row["refusal"] is None else str(row["refusal"])

    def add_columns(self, location: str, schema: TableSchema) -> None:
        """Add missing columns and nested fields, and wider types, to a table in one commit. No effect if it has all.

        Args:
            location: `s3a://` URI of a table that exists.
            schema: the columns of the table, spelled as in the table, and the new columns.

        Raises:
            PySparkException: Delta refuses the columns.
        """
        # In a table that maps its columns already, Delta chooses the names of new columns in the files.
        columns = _arguments(schema, schema.growth) if schema.mapped else _columns(schema)
        self._procedures.call_one("add_columns", table=location, **columns)

    def infer_csv(self, files: Mapping[str, Any], known: TableSchema) -> dict[str, Any]:
        """Return the columns of CSV files, each with its narrowest type, as Spark's JSON of a schema.

        Args:
            files: the files, by header, and how to read them (`LoadRequest` of platform/jvm).
            known: columns whose types are known: a row that a load with them refuses has no say.
        """
        row = self._procedures.call_one("infer_csv", files=json.dumps(files), known=json.dumps(known.to_spark()))
        schema: dict[str, Any] = json.loads(row["schema"])
        return schema

    def infer_json(self, files: Mapping[str, Any], known: TableSchema, max_levels: int) -> dict[str, Any]:
        """Return the columns of files of JSON, as Spark's JSON of a schema.

        Args:
            files: the files and how to read them (`LoadRequest` of platform/jvm).
            known: columns whose types are known: an object that a load with them refuses has no say.
            max_levels: objects that are nested deeper are left out.
        """
        row = self._procedures.call_one(
            "infer_json", files=json.dumps(files), known=json.dumps(known.to_spark()), most_levels=max_levels
        )
        schema: dict[str, Any] = json.loads(row["schema"])
        return schema

    def add_files(
        self, location: str, batch_uri: str, *, verify_files: bool, seen: int = NOT_SEEN, digest: str = ""
    ) -> CommitResult:
        """Commit a batch object in one transaction. Returns the earlier result if the batch has landed already.

        Args:
            location: `s3a://` URI of the table.
            batch_uri: `s3a://` URI of the batch object.
            verify_files: also check that every file of the batch still has the recorded size and etag.
            seen: the version that the batch was prepared on. If the server saw it less than a minute ago, the batch
                is checked and committed on it, unless another commit came first.
            digest: digest of the batch, if `check_batch` got it and it was decided.

        Raises:
            PySparkException: the table is not this lake's, was dropped, restored or replaced, or its clock is off. The
                first line of the message names the problem and the remedy.
        """
        row = self._procedures.call_one(
            "add_files", table=location, batch=batch_uri, verify_files=verify_files, seen=seen, digest=digest
        )
        return CommitResult(row["version"], row["outcome"], row["digest"], row["reason"], row["replayed"])

    def check_batch(self, batch: str, rows: str, columns: str, digest: str = "") -> list[BatchRefusal]:
        """Return what the server could not read of a batch that is not decided yet. Changes nothing.

        Args:
            batch: content of the batch object.
            rows: JSON of the batch's rows as they are appended to the ledger, without those of the stamp.
            columns: DDL of the ledger's columns.
            digest: the batch's. The server keeps what it read for `add_files`. Empty if it is a part of a batch.
        """
        found = self._procedures.call("check_batch", batch=batch, rows=rows, columns=columns, digest=digest)
        return [BatchRefusal(row["part"], row["place"], row["problem"]) for row in found]

    def batch_view(self, location: str, batches: dict[int, list[str]], view: str) -> list[str]:
        """Make a temporary view of the rows of the files that some batches added.

        The view has the table's columns, read through the snapshot with its deletion vectors, and `_tidegate_n`,
        `_tidegate_path`, `_tidegate_row`.

        Args:
            location: `s3a://` URI of the table.
            batches: log-relative paths by batch number.
            view: the view's name.

        Returns:
            The paths that are no longer live.
        """
        wanted = json.dumps([{"n": n, "paths": paths} for n, paths in batches.items()])
        missing = self._procedures.call_one("batch_view", table=location, batches=wanted, view=view)["missing"]
        return [str(path) for path in json.loads(missing)]

    def live_view(self, location: str, view: str) -> int:
        """Make a temporary view of a table's live files.

        Its columns are `_tidegate_path`, spelled as in `_metadata.file_path`, `_tidegate_key`, decoded and relative to
        the table, `_tidegate_logged`, spelled as in the log, `_tidegate_size` in bytes, `_tidegate_modified` in
        milliseconds since 1970, `_tidegate_partition`, the texts of its partition's values by name, `_tidegate_rows`,
        all rows of the file by its statistics, `_tidegate_hidden`, the share of them that a deletion vector hides,
        `_tidegate_clustered`, the columns by which OPTIMIZE has clustered it, as JSON, and `_tidegate_cube`, the id of
        the files that it sorted together. Both are NULL if it has not.

        Args:
            location: `s3a://` URI of the table.
            view: the view's name.

        Returns:
            The table's version that the view shows.
        """
        return int(self._procedures.call_one("live_view", table=location, view=view)["version"])

    def logged_view(self, location: str, view: str) -> LoggedFiles:
        """Make a temporary view of all files that a table's log names.

        Its columns are `_tidegate_key`, decoded and relative to the table, `_tidegate_live`, whether the file is live,
        and not only a tombstone of it is left, `_tidegate_size` in bytes, `_tidegate_rows`, the rows that readers see
        of a live file, NULL without statistics, `_tidegate_outside`, whether a live file is not below the table, and
        `_tidegate_removed_at`, when a tombstone was written, in milliseconds by its writer's clock. Tombstones are
        there as long as the log has their commits, also if Delta shows them no more.

        Args:
            location: `s3a://` URI of the table.
            view: the view's name.
        """
        row = self._procedures.call_one("logged_view", table=location, view=view)
        schema, times = json.loads(row["schema"]), json.loads(row["commit_times"])
        return LoggedFiles(row["version"], schema, times, row["whole"])

    def merge(self, location: str, merging: Merging, source: str, app_id: str, number: int) -> Merge:
        """Merge rows in a commit that carries the txn (app_id, number), so that it happens only once.

        The txn is not set in the session of this handle. The queries read the session's temporary views.

        Args:
            location: `s3a://` URI of the table.
            merging: the rows and the rules of the merge.
            source: the temporary view that the merge reads. It is dropped afterwards.
            app_id: application of the txn.
            number: of the txn.

        Raises:
            PySparkException: `TIDEGATE_BUSY` or a `DELTA_CONCURRENT…` condition if another commit came first.
        """
        row = self._procedures.call_one(
            "merge",
            table=location,
            rows=merging.rows,
            keys=json.dumps(list(merging.keys)),
            newer=merging.newer or "",
            mixed=merging.mixed or "",
            stored=merging.stored or "",
            hiding=json.dumps(list(merging.hiding)),
            max_rows=merging.max_rows,
            statement=merging.statement,
            source=source,
            app_id=app_id,
            number=number,
            provided=json.dumps(dict(merging.provided)),
        )
        return Merge(**row.asDict())

    def append(
        self, location: str, rows: Sequence[dict[str, Any]], app_id: str, number: int, seen: int = NOT_SEEN
    ) -> bool:
        """Append a few rows to an existing table in one commit, once per (app_id, number).

        Args:
            location: `s3a://` URI of the table.
            rows: by column name; timestamps as microseconds since 1970.
            app_id: application of the txn.
            number: of the txn. The next number has to be greater.
            seen: the version at which the caller read the last number. As for `add_files`.

        Returns:
            Whether the rows were written; False if the table has that txn or a later one.
        """
        written = self._procedures.call_one(
            "append_rows", table=location, app_id=app_id, number=number, rows=json.dumps(rows), seen=seen
        )
        return written["version"] is not None

    def compact(self, location: str, clustering: Clustering | None = None) -> CompactionResult:
        """Merge a table's small files in a commit that changes no row. It gives way to a concurrent commit.

        Args:
            location: `s3a://` URI of the table.
            clustering: which files of a clustered table are sorted into new ones, in a commit for each cube. None: the
                table is not clustered.

        Raises:
            PySparkException: there was a concurrent commit, or another failure.
        """
        if clustering is None:
            with override_settings(self.session, _COMPACTION):
                (row,) = self._procedures.command(f"OPTIMIZE {delta_table(location)}")
            return CompactionResult(row["metrics"]["numFilesAdded"], row["metrics"]["numFilesRemoved"])
        with override_settings(self.session, _cluster_settings(clustering)):
            done = self._procedures.call_one(
                "cluster_files",
                table=location,
                cube_bytes=clustering.cube_bytes,
                max_bytes=clustering.max_bytes,
                other_columns=clustering.takes_other_columns,
            )
        return CompactionResult(done["added"], done["removed"], done["left"])

    def ledger_memory(self, location: str, version: int, n: int, keys: Sequence[str] | None) -> list[Row] | None:
        """Return the header rows of a batch and the last states of keys in a ledger's version, read without a Spark
        job.

        Args:
            location: `s3a://` URI of the ledger.
            version: of the ledger.
            n: the batch.
            keys: the object keys. None: all keys, of a ledger of up to a mebibyte.

        Returns:
            Rows by the ledger's column names; None if only a query can find them.
        """
        asked = json.dumps(None if keys is None else list(keys), ensure_ascii=False)
        rows = self._procedures.call("ledger_memory", table=location, version=version, n=n, keys=asked)
        return None if any(row["kind"] == "ask_spark" for row in rows) else rows

    def renew(self, location: str, properties: dict[str, str], name: str) -> int:
        """Empty a table in one commit: no live files, no columns, these properties. Returns the new version.

        Args:
            location: `s3a://` URI of the table, which may not exist.
            properties: with `tidegate.lake` and `tidegate.generation`. No effect if that generation owns the table
                already.
            name: the table's name in Delta's metadata.

        Raises:
            PySparkException: the table belongs to another lake. The first line of the message names the remedy.
        """
        row = self._procedures.call_one("renew_table", table=location, properties=json.dumps(properties), name=name)
        return int(row["version"])

    def may_have_quarantined(self, ledgers: Sequence[str]) -> list[bool]:
        """Return whether each ledger may have quarantined objects, by the statistics in its log.

        One call for all ledgers.

        Args:
            ledgers: `s3a://` URIs.
        """
        if not ledgers:
            return []
        return [bool(row["may"]) for row in self._procedures.call("quarantining", tables=json.dumps(list(ledgers)))]


def _cluster_settings(clustering: Clustering) -> dict[str, str]:
    most = str(clustering.cube_bytes * 3 // 2)
    return {
        "spark.databricks.delta.optimize.maxFileSize": str(CLUSTERED_BYTES),
        "spark.databricks.delta.optimize.clustering.mergeStrategy.minCubeSize.threshold": str(clustering.cube_bytes),
        "spark.databricks.delta.optimize.clustering.mergeStrategy.minCubeSize.targetCubeSize": most,
        # Each cube is a commit of its own, so that a run that ends early has done some of them.
        "spark.databricks.delta.optimize.batchSize": most,
    }


def _parse_staged(action: dict[str, Any]) -> Add:
    return Add(action["path"], action["partitionValues"], action["size"], action["modificationTime"], action["stats"])


def _columns(schema: TableSchema) -> dict[str, str]:
    """Return the arguments of a procedure that say which columns a table will have."""
    return _arguments(*schema.to_delta())


def _arguments(schema: TableSchema, properties: Mapping[str, str]) -> dict[str, str]:
    return {"schema": json.dumps(schema.to_spark()), "properties": json.dumps(properties)}
