"""`tidegate sql` runs a query on the lake's tables and prints the rows as a table or as JSON, without a loss."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import MINYEAR, UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql.functions import col, to_json
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    VariantType,
)
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tidegate.platform.cli.answers.answer import Answer, print_answer
from tidegate.platform.cli.aws_errors import explain_aws
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.row_json import row_json
from tidegate.platform.core.schema.digits import parse_exact
from tidegate.platform.core.wording import first_line, show_controls
from tidegate.platform.lake.aws.clients import caller
from tidegate.platform.lake.spark.collected_rows import collect_rows
from tidegate.platform.query.frame import statement_frame

#: Types whose values are shown as JSON also to people.
NESTED = (StructType, ArrayType, MapType)


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
    with using.open_lake() as lake, readable_errors():
        found = _run(statement_frame(lake, query, "sql", lambda: caller(using.settings.aws)), limit)
        if as_json:
            print_answer(console, sql_answer(found))
        else:
            show_result(console, found)


def sql_answer(found: Result) -> SqlAnswer:
    """Return a result for programs.

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


def _run(frame: DataFrame, limit: int) -> Result:
    rows = collect_rows(_variants_as_json(frame.limit(limit + 1)))
    return Result(frame.schema, rows[:limit], frame.count() - limit if len(rows) > limit else 0)


def _variants_as_json(frame: DataFrame) -> DataFrame:
    """Return the rows with JSON in place of VARIANTs. PySpark rounds the decimals of a VARIANT to 28 digits."""
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
        table.add_column(Text(show_controls(name)), justify="right" if is_numeric else "left", overflow="fold")
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
    return Text(show_controls(json_text(value, type) if isinstance(type, NESTED) else str(value)))


@contextmanager
def readable_errors() -> Iterator[None]:
    """Raise errors of Spark and refusals of AWS as CommandError in this context."""
    try:
        yield
    except PySparkException as error:
        raise CommandError(first_line(error)) from None
    except ClientError as error:
        raise CommandError(f"the lake's bucket cannot be read: {explain_aws(error)}") from None


class SqlColumn(Answer):
    """A column of a query's result."""

    name: str
    """Its name."""
    type: str
    """Its type in Spark SQL."""


class SqlAnswer(Answer):
    """The result of a query."""

    columns: tuple[SqlColumn, ...]
    """The columns, in their order. Empty if the statement has no result."""
    rows: tuple[Mapping[str, Any], ...]
    """The rows, each with its values by the names of the columns. DECIMALs are strings, and BINARY is base64."""
    more: int
    """Number of rows that `--limit` left out."""


def json_value(value: Any, type: DataType) -> Any:
    """Return a value that `json` writes without a loss.

    DECIMALs, and numbers of a VARIANT that a double cannot hold, become strings. TIMESTAMPs are ISO 8601 in UTC, and
    BINARY is base64. Values of types without a form in JSON are strings.

    Args:
        value: as PySpark returns it. A VARIANT may also be its JSON, and a time may be Spark's text.
        type: its type.
    """
    if value is None or isinstance(value, bool):
        return value
    for kind, converted in _CONVERTED.items():
        if isinstance(type, kind):
            return converted(value, type)
    return str(value)


def json_text(value: Any, type: DataType) -> str:
    """Return a value as JSON in one line."""
    return json.dumps(json_value(value, type), ensure_ascii=False)


def _struct(value: Any, type: Any) -> dict[str, Any]:
    return {field.name: json_value(part, field.dataType) for part, field in zip(value, type.fields, strict=True)}


def _map(value: Mapping[Any, Any], type: Any) -> dict[str, Any]:
    named = ((json_value(key, type.keyType), part) for key, part in value.items())
    return {
        key if isinstance(key, str) else json.dumps(key, ensure_ascii=False): json_value(part, type.valueType)
        for key, part in named
    }


def _format_double(value: float, _: DataType) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _variant(value: Any, _: DataType) -> Any:
    return row_json(str(value), parse_float=_number)


def _number(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) and parse_exact(repr(number)) == parse_exact(text) else text


def to_utc(value: datetime | str) -> datetime | str:
    """Return a TIMESTAMP in UTC, without the zone. Text of Spark is in UTC already."""
    if isinstance(value, str):
        return value
    # Python looks for the offset of the day before, too, and has none before year 1.
    shift = timedelta(days=2 if value.year == MINYEAR else 0)
    return (value + shift).astimezone(UTC).replace(tzinfo=None) - shift


def _iso(value: date | str) -> str:
    return value.replace(" ", "T") if isinstance(value, str) else value.isoformat()


#: PySpark returns a TIMESTAMP as a time without a zone, in the time zone of this process.
_CONVERTED: Mapping[type[DataType], Callable[[Any, Any], Any]] = {
    StructType: _struct,
    ArrayType: lambda value, type: [json_value(part, type.elementType) for part in value],
    MapType: _map,
    StringType: lambda value, _: value,
    IntegralType: lambda value, _: value,
    DecimalType: lambda value, _: format(value, "f"),
    FractionalType: _format_double,
    TimestampType: lambda value, _: f"{_iso(to_utc(value))}Z",
    TimestampNTZType: lambda value, _: _iso(value),
    DateType: lambda value, _: _iso(value),
    TimeType: lambda value, _: value.isoformat(),
    BinaryType: lambda value, _: base64.b64encode(value).decode("ascii"),
    VariantType: _variant,
}
