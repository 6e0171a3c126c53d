"""`tidegate sql` runs a query on the lake's tables and prints the rows as a table or as JSON."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import col, to_json
from pyspark.sql.types import DataType, StructType, TimestampType, VariantType
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.sql import SqlAnswer, SqlColumn
from tidegate.platform.cli.aws_errors import explain_aws
from tidegate.platform.cli.caller import caller
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.json_values import NESTED, json_text, json_value, to_utc
from tidegate.platform.cli.sql.asked_days import with_days
from tidegate.platform.cli.sql.asked_tables import asked_tables, without_schema
from tidegate.platform.cli.sql.statement import changes_something, without_values
from tidegate.platform.cli.sql.time_travel import reach_silver
from tidegate.platform.cli.table_named import table_named
from tidegate.platform.core.config.silver_columns import own_columns
from tidegate.platform.core.first_line import first_line, visible
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.shell import command
from tidegate.platform.inventory.as_of import inventory_as_of
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.collected import collected
from tidegate.platform.lake.sql_names import SqlNames, Unnamed

_SCHEMAS = ("bronze", "silver", "ledger", "lake")
_QUARANTINE = ("lake", "quarantine")
#: A table that Spark does not find, as its message names it.
_NAMED = re.compile(r"`(\w+)`\.`(\w+)`")
#: Tables that an error message names.
_MAX_NAMED = 12

#: Characters of a statement that the log of operations has.
_MAX_RECORDED = 2_000


@dataclass(frozen=True)
class Result:
    """The result of a query.

    Attributes:
        schema: its columns. Two may have one name.
        rows: its first rows.
        more: number of rows that are left out.
    """

    schema: StructType
    rows: Sequence[Row]
    more: int


def run_sql(console: Console, query: str, home: Path | None, limit: int, *, as_json: bool = False) -> None:
    """Run a query and print its rows.

    Args:
        console: takes the output.
        query: Spark SQL; `bronze.<name>`, `silver.<name>`, `ledger.<name>`, `lake.intake` and
            `lake.quarantine` are the lake's tables; time travel works. `inventory_as_of('<table>', '<day>')` is the
            inventories of a day.
        home: home of a running local platform; None takes a running default one, else the environment.
        limit: maximum number of rows to print.
        as_json: print only one JSON object.

    Raises:
        CommandError: the query cannot be run, or the lake or Spark cannot be reached. As JSON, also if two columns of
            the result have one name.
    """
    using = client(home)
    with using.opened() as lake, readable():
        if changes_something(query):
            statement = without_values(query)[:_MAX_RECORDED]
            lake.store.operations.put("sql", caller(using.settings.aws), statement=statement)
        found = _run(query_frame(lake, query), limit)
        if as_json:
            print_answer(console, sql_answer(found))
        else:
            show_result(console, found)


def query_frame(lake: Lake, query: str) -> DataFrame:
    """Returns the analyzed frame of a query on the lake's tables.

    Raises:
        CommandError: a table of the query does not exist, or the inventories of a day cannot be read.
        PySparkException: Spark refuses the query.
    """
    query = with_days(query, lambda name, day: _view_of_day(lake, name, day))
    query, unnamed, every = _named(lake, query)
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
            hints = [near(message, tables), *explain_missing_table(message, tables, configured), *unnamed[:_MAX_NAMED]]
            raise CommandError(f"{message} Tables there are: {'; '.join(map(str, hints))}") from None
        raise


def sql_answer(found: Result) -> SqlAnswer:
    """Returns a result for programs.

    Raises:
        CommandError: two columns have one name.
    """
    names = found.schema.names
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise CommandError(f"two columns have the name {twice[0]}: give one of them another name with AS")
    return SqlAnswer(
        columns=tuple(SqlColumn(name=field.name, type=field.dataType.simpleString()) for field in found.schema),
        rows=tuple(json_value(row, found.schema) for row in found.rows),
        more=found.more,
    )


def _named(lake: Lake, query: str) -> tuple[str, list[Unnamed], bool]:
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
        lake.delta.session.sql(f"CREATE TEMPORARY VIEW {_QUARANTINE[1]} AS {SqlNames(lake).quarantine_query()}")
        query = without_schema(query, *_QUARANTINE)
    return query, unnamed, False


def _view_of_day(lake: Lake, name: str, day: date) -> str:
    """Make a temporary view of the inventories of a day. Returns its name."""
    table_key = table_named(lake, name)
    view = re.sub(r"\W", "_", f"inventory_as_of_{table_key}_{day}", flags=re.ASCII)
    try:
        inventory_as_of(lake, table_key, day).createOrReplaceTempView(view)
    except (InventoryError, ValueError) as error:
        raise CommandError(str(error)) from None
    return view


def _analyze_query(lake: Lake, query: str) -> DataFrame:
    silver = {spec.name: spec.silver for spec in lake.config.tables}

    def own(name: str, relation: str) -> tuple[str, ...]:
        found = silver.get(name)
        # A version that an older release wrote may lack one of them.
        leaves = found is not None and found.leaves_values
        return own_columns(found, lake.delta.session.sql(f"SELECT * FROM {relation}").columns if leaves else None)

    frame = lake.delta.session.sql(reach_silver(query, own))
    _ = frame.schema  # Spark Connect analyzes a query when something asks for its columns.
    return frame


def _run(frame: DataFrame, limit: int) -> Result:
    rows = collected(_variants_as_json(frame.limit(limit + 1)))
    return Result(frame.schema, rows[:limit], frame.count() - limit if len(rows) > limit else 0)


def _variants_as_json(frame: DataFrame) -> DataFrame:
    """Returns the rows with JSON in place of VARIANTs. PySpark rounds the decimals of a VARIANT to 28 digits."""
    if not any(isinstance(field.dataType, VariantType) for field in frame.schema):
        return frame
    names = [f"c{index}" for index in range(len(frame.columns))]
    columns = zip(names, frame.schema, strict=True)
    return frame.toDF(*names).select(
        *(to_json(name) if isinstance(field.dataType, VariantType) else col(name) for name, field in columns)
    )


def show_result(console: Console, found: Result) -> None:
    """Print a result as a table."""
    if found.schema.fields:
        _show(console, found.schema, found.rows)
    if found.more:
        console.print(f"{found.more:,} more rows; --limit prints more")


def _show(console: Console, schema: StructType, rows: Sequence[Row]) -> None:
    table = Table(show_edge=False, header_style="bold")
    for index, name in enumerate(schema.names):
        is_numeric = any(isinstance(row[index], int | float) for row in rows)
        table.add_column(Text(visible(name)), justify="right" if is_numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*[_cell(value, field.dataType) for value, field in zip(row, schema, strict=True)])
    if not console.is_terminal:
        # In a pipe or a file long lines lose nothing.
        unbounded = console.options.update(max_width=1_000_000)
        console.width = max(console.width, Measurement.get(console, unbounded, table).maximum)
    console.print(table)


def _cell(value: Any, type: DataType) -> Text:
    if value is None:
        return Text("null", style="dim")
    if isinstance(type, TimestampType):
        # As Spark's session has it, whose zone is UTC, so that the text can be pasted into a query.
        value = to_utc(value)
    return Text(visible(json_text(value, type) if isinstance(type, NESTED) else str(value)))


def near(message: str, tables: Sequence[str]) -> str:
    """Returns the existing tables, or of many those with the names nearest to the one that Spark does not find.

    Args:
        message: the error of Spark.
        tables: schema and name of each.
    """
    found = _NAMED.search(message)
    if len(tables) <= _MAX_NAMED or not found:
        return ", ".join(tables[:_MAX_NAMED]) + (", …" if len(tables) > _MAX_NAMED else "") or "none yet"
    wanted = f"{found[1]}.{found[2]}".lower()
    like = sorted(tables, key=lambda table: -SequenceMatcher(None, wanted, table.lower()).ratio())[:_MAX_NAMED]
    return f"{', '.join(like)} and {len(tables) - _MAX_NAMED} more, see SHOW TABLES IN {found[1]}"


def explain_missing_table(message: str, tables: Collection[str], configured: Mapping[str, str | None]) -> list[str]:
    """Returns what to do about a table that Spark does not find. A table with a ledger has no rows yet, or no longer.

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


@contextmanager
def readable() -> Iterator[None]:
    """Raise errors of Spark and refusals of AWS as CommandError in this context."""
    try:
        yield
    except PySparkException as error:
        raise CommandError(first_line(error)) from None
    except ClientError as error:
        raise CommandError(f"the lake's bucket cannot be read: {explain_aws(error)}") from None
