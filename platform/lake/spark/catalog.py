"""SQL names of tables and views on the Spark server."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException

from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.lake.spark.procedures import Procedures

#: Property of a view that records what the view was made of.
_MARK = "tidegate.made_of"


@dataclass(frozen=True)
class TableName:
    """A SQL name that a Delta table should have; `location` is the table's `s3a://` URI."""

    schema: str
    name: str
    location: str


@dataclass(frozen=True)
class Naming:
    """Whether a table has its name now; `trouble` says why its log could not be read, None where it could."""

    named: bool
    trouble: str | None


class SqlCatalog:
    """The server's catalog of schemas, tables and views.

    Args:
        procedures: those of the session that reads and changes the catalog.
    """

    def __init__(self, procedures: Procedures) -> None:
        self._procedures = procedures

    def name_tables(self, names: Sequence[TableName]) -> list[Naming]:
        """Give Delta tables their SQL names in one call, and return the result of each, in order.

        A name that belonged to another location is taken over. A table that has no columns, or does not exist, is not
        named. Names that exist already cost nothing.
        """
        if not names:
            return []
        tables = json.dumps([vars(name) for name in names], ensure_ascii=False)
        return [Naming(row["named"], row["trouble"]) for row in self._procedures.call("name_tables", tables=tables)]

    def name_table(self, schema: str, name: str, location: str, definition: str) -> None:
        """Give a table that is not Delta's its SQL name. A name that belonged to another location is taken over.

        Args:
            schema: created if it does not exist.
            location: `s3a://` URI.
            definition: what kind of table it is, and its columns.
        """
        self.make_schema(schema)
        for attempts_left in (4, 3, 2, 1, 0):
            try:
                return self._take_name(schema, name, location, definition)
            except AnalysisException:
                # Another run names the same table: what this run has just looked up was created or dropped since.
                if not attempts_left:
                    raise
                time.sleep(random.uniform(0.05, 0.5))

    def _take_name(self, schema: str, name: str, location: str, definition: str) -> None:
        # Read from the catalog: every other way loads the table, which fails where the table's files are gone.
        for found in self._procedures.command(f"SHOW TABLE EXTENDED IN {schema} LIKE {literal(name)}"):
            if f"\nLocation: {location.rstrip('/')}\n" in found["information"].replace("/\n", "\n"):
                return
            # An external table: only the name goes.
            self._procedures.command(f"DROP TABLE IF EXISTS {schema}.{name}")
        self._procedures.command(
            f"CREATE TABLE IF NOT EXISTS {schema}.{name} {definition} LOCATION {literal(location)}"
        )

    def make_schema(self, schema: str) -> None:
        """Create a schema for SQL names, unless it exists."""
        self._procedures.command(f"CREATE SCHEMA IF NOT EXISTS {schema}")

    def name_view(self, schema: str, name: str, query: str, mark: str = "", *, grows: bool = False) -> None:
        """Make a view.

        Args:
            schema: of the view.
            name: of the view.
            query: what the view reads.
            mark: for `view_mark`.
            grows: the view has the columns that the query has at each use, not those of now.
        """
        binding = " WITH SCHEMA EVOLUTION" if grows else ""
        self._procedures.command(
            f"CREATE OR REPLACE VIEW {schema}.{name}{binding} TBLPROPERTIES ('{_MARK}' = {literal(mark)}) AS {query}"
        )

    def derive_view(self, schema: str, name: str, pattern_schema: str, query: str, mark: str) -> None:
        """Make a view with the columns of another view, and a query that Spark does not analyze.

        Args:
            schema: of the view.
            name: of both views.
            pattern_schema: of the other view.
            query: has those columns.
            mark: for `view_mark`.
        """
        self._procedures.call_one(
            "derive_view", schema=schema, name=name, pattern_schema=pattern_schema, query=query, made_of=mark
        )

    def view_mark(self, schema: str, name: str) -> str | None:
        """Return the mark that a view was made with; None if there is no such view."""
        try:
            (found,) = self._procedures.command(f"SHOW TBLPROPERTIES {schema}.{name} ('{_MARK}')")
        except AnalysisException:
            return None
        return str(found["value"])
