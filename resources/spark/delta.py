"""The only door to Delta tables: every look at one and every commit to one passes here."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession

from tidegate.platform.core.bronze.batch import Add, Remove
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.aws.commit_table import CommitTableAddress
from tidegate.resources.spark.remote import SparkRemote
from tidegate.resources.spark.session import command, probe

#: Property of a view that says what it was made of.
_MARK = "tidegate.made_of"


@dataclass(frozen=True)
class TableState:
    """A table as its log shows it.

    Attributes:
        version: Delta version, -1 if there is no table.
        txn: last transaction version of the application asked for, or None.
        table_id: Delta's own id of the table.
        schema: its columns.
        files: number of live files.
    """

    version: int
    txn: int | None
    table_id: str | None
    properties: dict[str, str]
    schema: TableSchema
    files: int

    @property
    def exists(self) -> bool:
        """Whether there is a table."""
        return self.version >= 0

    @property
    def has_columns(self) -> bool:
        """Whether a file has given it columns; a table that was reset has none until its first file."""
        return bool(self.schema.fields)


@dataclass(frozen=True)
class CommitResult:
    """What a batch's commit left in the table, by that commit's own word.

    Attributes:
        version: Delta version of the commit.
        outcome: ``committed`` or ``void``.
        digest: digest of the batch that landed.
        reason: why a void one is void.
        replayed: it had landed before this call.
    """

    version: int
    outcome: str
    digest: str
    reason: str | None
    replayed: bool


@dataclass(frozen=True)
class Merging:
    """Rows that are merged into a table by key.

    Attributes:
        rows: a query of the table's columns; no two of its rows have the same key.
        keys: columns that tell rows apart.
        newer: a condition over a row ``s`` and the table's row ``t`` of its key: ``s`` replaces ``t``. None where more
            than that is to be done, which only the statement says, or nobody knows how many rows there are.
        most: how many rows the query has at most; without effect where ``newer`` is None.
        statement: a MERGE that does the same, for tables and amounts of rows that the short way does not serve.
    """

    rows: str
    keys: Sequence[str]
    newer: str | None
    most: int
    statement: str


@dataclass(frozen=True)
class Merge:
    """Rows that a merge changed, and the table's version and last txn of its application afterwards."""

    inserted: int
    updated: int
    deleted: int
    version: int
    txn: int | None


@dataclass(frozen=True)
class TableName:
    """A SQL name that a Delta table is to have: ``location`` is its ``s3a://`` URI."""

    schema: str
    name: str
    location: str


@dataclass(frozen=True)
class Compacted:
    """How many data files a compaction wrote, and how many it made superfluous."""

    added: int
    removed: int


@dataclass(frozen=True)
class Naming:
    """Whether a table has its name now; ``trouble`` says why its log could not be read, None where it could."""

    named: bool
    trouble: str | None


#: Delta's default takes each file below a gigabyte, and would write a table of that size anew each time.
_COMPACTION = {
    "spark.databricks.delta.optimize.minFileSize": str(16 << 20),
    "spark.databricks.delta.optimize.maxFileSize": str(128 << 20),
}


class Delta:
    """Spark and the procedures of platform/jvm behind typed calls.

    Args:
        remote: the Connect server.
        connect: makes the session that this handle uses.
    """

    def __init__(self, remote: SparkRemote, connect: Callable[[], SparkSession]) -> None:
        self.remote = remote
        self._connect = connect

    @cached_property
    def session(self) -> SparkSession:
        """The session; opened at first use, after a probe.

        Raises:
            SparkUnreachable: no server answers.
        """
        probe(self.remote)
        return self._connect()

    def require_session(self) -> None:
        """Tell the failure of a query from the loss of the server.

        Raises:
            SparkUnreachable: no server answers.
            PySparkException: it was restarted, and this handle's session went with it.
        """
        probe(self.remote)
        self.session.sql("SELECT 1").collect()

    def jars(self) -> dict[str, str | None]:
        """The jars that the classes of a commit come from on the server, by component; None where one is missing."""
        return {row["component"]: row["jar"] for row in self._call("jars")}

    def commit_table(self) -> CommitTableAddress:
        """The DynamoDB table that the server's log store uses, whatever the settings of this process."""
        row = self._call_one("commit_table")
        return CommitTableAddress(
            row["dynamodb_table"], row["region"], row["endpoint"], row["ttl_seconds"], row["possibly_lost"]
        )

    def table_state(self, location: str, app_id: str = "") -> TableState:
        """Look at a table's log.

        Args:
            location: ``s3a://`` URI of the table.
            app_id: application whose last txn is wanted.
        """
        row = self._call_one("table_state", table=location, app_id=app_id)
        return TableState(
            row["version"],
            row["txn"],
            row["table_id"],
            json.loads(row["properties"] or "{}"),
            TableSchema.from_spark(json.loads(row["schema"] or "{}"), json.loads(row["partition_columns"] or "[]")),
            row["num_files"] or 0,
        )

    def live_entries(self, location: str, paths: Sequence[str]) -> dict[str, Remove]:
        """The live entries of some paths, ready to be removed; paths without one are left out."""
        if not paths:
            return {}
        rows = self._call("live_files", table=location, paths=json.dumps(list(paths)))
        return {row["path"]: Remove(row["path"], row["dv_id"]) for row in rows}

    def load(
        self, location: str, files: Mapping[str, Any], schema: TableSchema, apart: str
    ) -> tuple[list[Add], dict[str, dict[str, Any]]]:
        """Read files once, and write their good rows as data files in the table's directory, uncommitted.

        Args:
            location: ``s3a://`` URI of the table, which need not exist yet.
            files: what to read and how (``LoadRequest`` of platform/jvm).
            schema: the columns that the table will have.
            apart: ``s3a://`` URI of a new folder for the rows that do not fit, as JSON lines with their source, etag,
                reason and text; without such rows it is not made.

        Returns:
            The data files; and for each source file of which there are rows, by its address, what was counted.
        """
        mapped, properties = schema.for_delta()
        rows = self._call(
            "load_files",
            table=location,
            files=json.dumps(files),
            schema=json.dumps(mapped.to_spark()),
            partition_columns=json.dumps(schema.partitions),
            properties=json.dumps(properties),
            apart=apart,
        )
        adds = [_staged(json.loads(row["action"])) for row in rows if row["action"] is not None]
        return adds, {row["source"]: json.loads(row["counted"]) for row in rows if row["source"] is not None}

    def stage(self, location: str, query: str, schema: TableSchema) -> list[Add]:
        """Write a query's rows as data files in the table's directory, uncommitted.

        Args:
            location: ``s3a://`` URI of the table.
            query: SQL over temporary views of this handle's session.
            schema: the columns that the table will have.
        """
        mapped, properties = schema.for_delta()
        rows = self._call(
            "stage_files",
            table=location,
            query=query,
            schema=json.dumps(mapped.to_spark()),
            partition_columns=json.dumps(schema.partitions),
            properties=json.dumps(properties),
        )
        return [_staged(json.loads(row["action"])) for row in rows]

    def refusal(self, location: str, schema: TableSchema) -> str | None:
        """Why Delta would not let a table have these columns; None if it takes them. Nothing is changed.

        Args:
            location: ``s3a://`` URI of the table, which need not exist yet.
            schema: the columns that the table would have.
        """
        mapped, properties = schema.for_delta()
        row = self._call_one(
            "check_columns",
            table=location,
            schema=json.dumps(mapped.to_spark()),
            partition_columns=json.dumps(schema.partitions),
            properties=json.dumps(properties),
        )
        return None if row["refusal"] is None else str(row["refusal"])

    def add_columns(self, location: str, schema: TableSchema) -> None:
        """Give a table, in one commit, the columns and nested fields that it has not; no effect if it has them.

        Args:
            location: ``s3a://`` URI of a table that exists.
            schema: its columns, as it spells them, and the new ones.

        Raises:
            PySparkException: Delta refuses the columns.
        """
        # In a table that maps its columns already, Delta names the new ones in the files itself.
        mapped, properties = (schema, {}) if schema.mapped else schema.for_delta()
        self._call_one(
            "add_columns", table=location, schema=json.dumps(mapped.to_spark()), properties=json.dumps(properties)
        )

    def infer_csv(self, files: Mapping[str, Any]) -> list[str]:
        """The narrowest type of each column of CSV files of one header, by its name in Spark's schema JSON.

        Args:
            files: which, and how they are read (``LoadRequest.Group`` of platform/jvm).

        Returns:
            Nothing if there are no rows.
        """
        row = self._call_one("infer_csv", files=json.dumps(files))
        return [str(kind) for kind in json.loads(row["types"])]

    def infer_json(self, files: Mapping[str, Any], most_levels: int) -> dict[str, Any]:
        """The columns of files of JSON lines, as Spark's JSON of a schema.

        Args:
            files: which, and how they are read (``LoadRequest.Group`` of platform/jvm).
            most_levels: objects that are nested deeper say nothing.
        """
        row = self._call_one("infer_json", files=json.dumps(files), most_levels=most_levels)
        schema: dict[str, Any] = json.loads(row["schema"])
        return schema

    def add_files(self, location: str, batch_uri: str, *, verify_files: bool) -> CommitResult:
        """Commit a batch object in one transaction, or find what already landed.

        Args:
            location: ``s3a://`` URI of the table.
            batch_uri: ``s3a://`` URI of the batch object.
            verify_files: also check that every file of the batch still is what the batch says.

        Raises:
            PySparkException: the table is not this lake's, was dropped, restored or replaced, or its clock is off; the
                message's first line names the problem and the remedy.
        """
        row = self._call_one("add_files", table=location, batch=batch_uri, verify_files=verify_files)
        return CommitResult(row["version"], row["outcome"], row["digest"], row["reason"], row["replayed"])

    def batch_view(self, location: str, batches: dict[int, list[str]], view: str) -> list[str]:
        """Make a temporary view over the rows of the files that some batches added.

        The view has the table's columns, read through the snapshot (deletion vectors hold), and ``_tidegate_n``,
        ``_tidegate_path``, ``_tidegate_row``.

        Args:
            location: ``s3a://`` URI of the table.
            batches: log-relative paths by batch number.
            view: the view's name.

        Returns:
            Those of the paths that are not live any more.
        """
        wanted = json.dumps([{"n": n, "paths": paths} for n, paths in batches.items()])
        missing = self._call_one("batch_view", table=location, batches=wanted, view=view)["missing"]
        return [str(path) for path in json.loads(missing)]

    def live_view(self, location: str, view: str) -> int:
        """Make a temporary view over a table's live files.

        Its columns are ``_tidegate_path`` as ``_metadata.file_path`` has it, and ``_tidegate_key``, decoded, below the
        table.

        Args:
            location: ``s3a://`` URI of the table.
            view: the view's name.

        Returns:
            The table's version that it is of.
        """
        return int(self._call_one("live_view", table=location, view=view)["version"])

    def merge(self, location: str, merging: Merging, source: str, app_id: str, number: int) -> Merge:
        """Merge rows in a commit that carries the txn (app_id, number), so that it happens once.

        The session of this handle has no part in the txn; the queries read its temporary views.

        Args:
            location: ``s3a://`` URI of the table.
            merging: what is merged.
            source: the temporary view that it reads; dropped afterwards.
            app_id: application of the txn.
            number: of the txn.

        Raises:
            PySparkException: ``TIDEGATE_BUSY`` or a ``DELTA_CONCURRENT…`` condition when another commit came first.
        """
        row = self._call_one(
            "merge",
            table=location,
            rows=merging.rows,
            keys=json.dumps(list(merging.keys)),
            newer=merging.newer or "",
            most=merging.most,
            statement=merging.statement,
            source=source,
            app_id=app_id,
            number=number,
        )
        return Merge(row["inserted"], row["updated"], row["deleted"], row["version"], row["txn"])

    def append(self, location: str, rows: Sequence[dict[str, Any]], app_id: str, number: int) -> bool:
        """Append a few rows to a table that exists, in one commit, once per (app_id, number).

        Args:
            location: ``s3a://`` URI of the table.
            rows: by column name; timestamps as microseconds since 1970.
            app_id: application of the txn.
            number: of the txn; the next one has to be greater.

        Returns:
            Whether they were written; False if that txn, or a later one, is there.
        """
        written = self._call_one("append_rows", table=location, app_id=app_id, number=number, rows=json.dumps(rows))
        return written["version"] is not None

    def compact(self, location: str) -> Compacted:
        """Merge a table's small files in one commit that changes no row; a commit that it meets comes first.

        Args:
            location: ``s3a://`` URI of the table.

        Raises:
            PySparkException: it met another commit, or failed otherwise.
        """
        conf = self.session.conf
        for name, size in _COMPACTION.items():
            conf.set(name, size)
        try:
            (row,) = command(self.session, f"OPTIMIZE delta.`{location}`")
        finally:
            for name in _COMPACTION:
                conf.unset(name)
        return Compacted(row["metrics"]["numFilesAdded"], row["metrics"]["numFilesRemoved"])

    def ledger_memory(self, location: str, version: int, n: int, keys: Sequence[str]) -> list[Row] | None:
        """The header rows of a batch and the last states of keys, as of a ledger's version, without a Spark job.

        Args:
            location: ``s3a://`` URI of the ledger.
            version: of the ledger.
            n: the batch.
            keys: the keys asked for.

        Returns:
            Rows by the ledger's column names; None where only a query can tell.
        """
        asked = json.dumps(list(keys), ensure_ascii=False)
        rows = self._call("ledger_memory", table=location, version=version, n=n, keys=asked)
        return None if any(row["kind"] == "ask_spark" for row in rows) else rows

    def renew(self, location: str, properties: dict[str, str], name: str) -> int:
        """Begin a table anew in one commit: no live files, no columns, these properties; the version.

        Args:
            location: ``s3a://`` URI of the table, which need not exist.
            properties: ``tidegate.lake`` and ``tidegate.generation`` among them; without effect if that generation
                owns the table already.
            name: what Delta's metadata calls it.

        Raises:
            PySparkException: the table there is not that lake's; the message's first line says so, and what to do.
        """
        row = self._call_one("renew_table", table=location, properties=json.dumps(properties), name=name)
        return int(row["version"])

    def name_tables(self, names: Sequence[TableName]) -> list[Naming]:
        """Give Delta tables their SQL names on the server, in one call; what became of each, in their order.

        A name that stood for another location is taken over. A table that has no columns, or does not exist, is not
        named. Names that stand already cost nothing.
        """
        if not names:
            return []
        rows = self._call("name_tables", tables=json.dumps([vars(one) for one in names], ensure_ascii=False))
        return [Naming(row["named"], row["trouble"]) for row in rows]

    def quarantining(self, ledgers: Sequence[str]) -> list[bool]:
        """Whether each ledger may say that something is in quarantine; by the statistics in its log, in one call.

        Args:
            ledgers: ``s3a://`` URIs.
        """
        if not ledgers:
            return []
        return [bool(row["may"]) for row in self._call("quarantining", tables=json.dumps(list(ledgers)))]

    def derive_view(self, schema: str, name: str, pattern_schema: str, query: str, mark: str) -> None:
        """Make a view with the columns of the one of that name in another schema, and a query that is not analyzed.

        Args:
            schema: of the view.
            name: of both views.
            pattern_schema: of the other view.
            query: has those columns.
            mark: for ``view_mark``.
        """
        self._call_one(
            "derive_view", schema=schema, name=name, pattern_schema=pattern_schema, query=query, made_of=mark
        )

    def name_table(self, schema: str, name: str, location: str, definition: str) -> None:
        """Give a table that is not Delta's its SQL name; a name that stood for another location is taken over.

        Args:
            schema: made if need be.
            name: the name.
            location: ``s3a://`` URI.
            definition: what kind of table it is, and its columns.
        """
        self.make_schema(schema)
        for attempts_left in (4, 3, 2, 1, 0):
            try:
                return self._take_name(schema, name, location, definition)
            except AnalysisException:
                # Two runs that name the same table meet: one finds gone, or there, what it has just looked for.
                if not attempts_left:
                    raise
                time.sleep(random.uniform(0.05, 0.5))

    def _take_name(self, schema: str, name: str, location: str, definition: str) -> None:
        # The catalog's own word: every other way loads the table, which fails where it is gone.
        for found in command(self.session, f"SHOW TABLE EXTENDED IN {schema} LIKE {_literal(name)}"):
            if f"\nLocation: {location.rstrip('/')}\n" in found["information"].replace("/\n", "\n"):
                return
            # An external table: only the name goes.
            command(self.session, f"DROP TABLE IF EXISTS {schema}.{name}")
        command(self.session, f"CREATE TABLE IF NOT EXISTS {schema}.{name} {definition} LOCATION {_literal(location)}")

    def make_schema(self, schema: str) -> None:
        """Make a schema for SQL names on the server, unless it is there."""
        command(self.session, f"CREATE SCHEMA IF NOT EXISTS {schema}")

    def name_view(self, schema: str, name: str, query: str, mark: str = "", *, grows: bool = False) -> None:
        """Give a query a SQL name on the server, with a mark for ``view_mark``.

        Args:
            schema: of the view.
            name: of the view.
            query: what it stands for.
            mark: for ``view_mark``.
            grows: it has the columns that the query has at each use, rather than those of now.
        """
        binding = " WITH SCHEMA EVOLUTION" if grows else ""
        command(
            self.session,
            f"CREATE OR REPLACE VIEW {schema}.{name}{binding} TBLPROPERTIES ('{_MARK}' = {_literal(mark)}) AS {query}",
        )

    def view_mark(self, schema: str, name: str) -> str | None:
        """The mark that a view was named with; None if there is no such view."""
        try:
            (found,) = command(self.session, f"SHOW TBLPROPERTIES {schema}.{name} ('{_MARK}')")
        except AnalysisException:
            return None
        return str(found["value"])

    def _call_one(self, procedure: str, **arguments: str | bool | int) -> Row:
        rows = self._call(procedure, **arguments)
        if len(rows) != 1:
            raise RuntimeError(
                f"tidegate.system.{procedure} returned {len(rows)} rows instead of one: the jars on the "
                "Spark server do not belong to this version of Tidegate; rebuild them with `make jars`"
            )
        return rows[0]

    def _call(self, procedure: str, **arguments: str | bool | int) -> list[Row]:
        # CALL binds no parameters (UNBOUND_SQL_PARAMETER), so arguments are written as literals.
        named = ", ".join(f"{name} => {_literal(value)}" for name, value in arguments.items())
        return command(self.session, f"CALL tidegate.system.{procedure}({named})")


def _literal(value: str | bool | int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}L"
    # Spark substitutes ${…} in a SQL text, inside literals too.
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024") + "'"


def _staged(action: dict[str, Any]) -> Add:
    return Add(action["path"], action["partitionValues"], action["size"], action["modificationTime"], action["stats"])
