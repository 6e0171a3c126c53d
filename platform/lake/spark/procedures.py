"""Calls of the procedures of platform/jvm (`CALL tidegate.system.…`)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Row, SparkSession

from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.lake.spark.session import command


class Procedures:
    """The procedures, called in one session.

    Args:
        session: gives the session.
    """

    def __init__(self, session: Callable[[], SparkSession]) -> None:
        self._session = session

    def call(self, procedure: str, **arguments: str | bool | int) -> list[Row]:
        """Call a procedure by its name, and return its rows."""
        # CALL binds no parameters (UNBOUND_SQL_PARAMETER), so arguments are written as literals.
        named = ", ".join(f"{name} => {literal(value)}" for name, value in arguments.items())
        return self.command(f"CALL tidegate.system.{procedure}({named})")

    def call_one(self, procedure: str, **arguments: str | bool | int) -> Row:
        """Call a procedure that returns one row.

        Raises:
            ConfigurationError: it returned another number of rows: the jars on the server are of another version.
        """
        rows = self.call(procedure, **arguments)
        if len(rows) != 1:
            raise ConfigurationError(
                f"tidegate.system.{procedure} returned {len(rows)} rows instead of one: the jars on the "
                "Spark server do not belong to this version of Tidegate; take those of `tidegate jars export`"
            )
        return rows[0]

    def command(self, sql: str) -> list[Row]:
        """Run a SQL command once, and return its rows."""
        return command(self._session(), sql)
