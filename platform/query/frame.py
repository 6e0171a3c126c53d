"""Runs Spark SQL on the tables of a lake: `bronze.<name>`, `silver.<name>`, `ledger.<name>`, `lake.<view>`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from difflib import SequenceMatcher

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tidegate.platform.core.config.silver_columns import own_columns
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.wording import command, first_line
from tidegate.platform.inventory.entered_inventories import inventory_as_of
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.sql_names import SqlNames, Unnamed
from tidegate.platform.query.query_tables import asked_tables, with_days, without_schema
from tidegate.platform.query.statement import changes_something, without_values
from tidegate.platform.query.table_lookup import MAX_NAMED, table_named
from tidegate.platform.query.time_travel import reach_silver

_SCHEMAS = ("bronze", "silver", "ledger", "lake")
#: Characters of a statement that the log of operations has.
_MAX_RECORDED = 2_000
_QUARANTINE = ("lake", "quarantine")
#: A table that Spark does not find, as its message names it.
_NAMED = re.compile(r"`(\w+)`\.`(\w+)`")


def query_frame(lake: Lake, query: str) -> DataFrame:
    """Return the analyzed frame of a query on the lake's tables.

    Raises:
        BadSetting: it may change something. Spark would run it at once, also if nobody asks for its rows. Also if a
            table of the query does not exist, or the inventories of a day cannot be read.
        PySparkException: Spark refuses the query.
    """
    if changes_something(query):
        raise BadSetting(
            "this is not a query, or may change something: `tidegate sql` runs a statement, and records it. If it is a "
            "query, begin it with SELECT, as SELECT * FROM (…), and call no method of Java"
        )
    return _frame(lake, query)


def statement_frame(lake: Lake, statement: str, operation: str, by: Callable[[], str]) -> DataFrame:
    """Return the analyzed frame of any statement. One that may change something is in the log of operations first.

    Args:
        statement: Spark SQL.
        operation: how the log calls it.
        by: returns who asked for it.

    Raises:
        BadSetting: a table of it does not exist, or the inventories of a day cannot be read.
        PySparkException: Spark refuses it.
        StoreError: the log of operations cannot be written.
    """
    if changes_something(statement):
        lake.store.operations.put(operation, by(), statement=without_values(statement)[:_MAX_RECORDED])
    return _frame(lake, statement)


def _frame(lake: Lake, query: str) -> DataFrame:
    query = with_days(query, lambda name, day: _view_of_day(lake, name, day))
    query, unnamed, every = _name_tables(lake, query)
    try:
        try:
            return _analyze_query(lake, query)
        except PySparkException as error:
            if every or not _is_unknown_table(error):
                raise
            # Only Spark understands the name in the query, or the error must list the tables.
            unnamed = SqlNames(lake).name_tables()
            return _analyze_query(lake, query)
    except PySparkException as error:
        if _is_unknown_table(error):
            message, tables = first_line(error), _tables(lake.delta.session)
            configured = {spec.name: spec.output.folder if spec.output else None for spec in lake.config.tables}
            hints = [
                suggest_tables(message, tables),
                *explain_missing_table(message, tables, configured),
                *unnamed[:MAX_NAMED],
            ]
            raise BadSetting(f"{message} Tables there are: {'; '.join(map(str, hints))}") from None
        raise


def _name_tables(lake: Lake, query: str) -> tuple[str, list[Unnamed], bool]:
    """Name the tables of a query.

    Returns the query to run, the tables without names, and whether every table of the lake was named.
    """
    asked = asked_tables(query)
    if asked is None:
        return query, SqlNames(lake).name_tables(), True
    unnamed = SqlNames(lake).name_queried_tables(
        {name for schema, name in asked if schema in ("bronze", "silver", "ledger")}
    )
    if any(schema.startswith("lake") for schema, _ in asked):
        SqlNames(lake).name_objects()
    if _QUARANTINE in asked:
        # The permanent view reads the ledger of every table. This one reads only ledgers that may have quarantines.
        lake.delta.session.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW {_QUARANTINE[1]} AS {SqlNames(lake).quarantine_query()}"
        )
        query = without_schema(query, *_QUARANTINE)
    return query, unnamed, False


def _view_of_day(lake: Lake, name: str, day: date) -> str:
    """Make a temporary view of the inventories of a day. Returns its name."""
    table_key = table_named(lake, name)
    view = re.sub(r"\W", "_", f"inventory_as_of_{table_key}_{day}", flags=re.ASCII)
    try:
        inventory_as_of(lake, table_key, day).createOrReplaceTempView(view)
    except (InventoryError, ValueError) as error:
        raise BadSetting(str(error)) from None
    return view


def _analyze_query(lake: Lake, query: str) -> DataFrame:
    silver = {spec.name: spec.silver for spec in lake.config.tables}

    def read_own_columns(name: str, relation: str) -> tuple[str, ...]:
        found = silver.get(name)
        # A version that an older release wrote may lack one of them.
        leaves = found is not None and found.leaves_values
        return own_columns(found, lake.delta.session.sql(f"SELECT * FROM {relation}").columns if leaves else None)

    frame = lake.delta.session.sql(reach_silver(query, read_own_columns))
    _ = frame.schema  # Spark Connect analyzes a query when something asks for its columns.
    return frame


def suggest_tables(message: str, tables: Sequence[str]) -> str:
    """Return the existing tables, or of many those with the names nearest to the one that Spark does not find.

    Args:
        message: the error of Spark.
        tables: schema and name of each.
    """
    found = _NAMED.search(message)
    if len(tables) <= MAX_NAMED or not found:
        return ", ".join(tables[:MAX_NAMED]) + (", …" if len(tables) > MAX_NAMED else "") or "none yet"
    wanted = f"{found[1]}.{found[2]}".lower()
    like = sorted(tables, key=lambda table: -SequenceMatcher(None, wanted, table.lower()).ratio())[:MAX_NAMED]
    return f"{', '.join(like)} and {len(tables) - MAX_NAMED} more, see SHOW TABLES IN {found[1]}"


def explain_missing_table(message: str, tables: Collection[str], configured: Mapping[str, str | None]) -> list[str]:
    """Return what to do about a table that Spark does not find. A table with a ledger has no rows yet, or no longer.

    Args:
        message: the error of Spark.
        tables: schema and name of each existing table.
        configured: names of the tables of lake.yaml, each with the folder of its output if it is one.
    """
    found = _NAMED.search(message)
    if not found or found[1] not in ("bronze", "silver", "ledger"):
        return []
    if found[1] != "ledger" and (folder := configured.get(found[2])):
        return [f"{found[2]} is an output: its rows are in the objects of {folder}, and no table has them"]
    if f"ledger.{found[2]}" not in tables:
        begun = f"no run of the table {found[2]} has ended yet: `tidegate trace s3://…` shows where one of its files is"
        return [begun] if found[2] in configured else []
    if found[1] == "silver" and f"bronze.{found[2]}" in tables:
        return [f"silver.{found[2]} is made by its first merge, if lake.yaml has `silver` for it"]
    query = f"SELECT key, status, reason FROM ledger.{found[2]} WHERE kind = 'row'"
    shows = command("sql", query)
    return [f"no row is in it: `{shows}` shows which files are quarantined, wait or are gone, and why"]


def _tables(session: SparkSession) -> list[str]:
    return [
        f"{schema}.{row['tableName']}"
        for schema in _SCHEMAS
        if session.catalog.databaseExists(schema)
        for row in session.sql(f"SHOW TABLES IN {schema}").collect()
    ]


def _is_unknown_table(error: PySparkException) -> bool:
    return error.getCondition() in ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_TABLE_NOT_FOUND")
