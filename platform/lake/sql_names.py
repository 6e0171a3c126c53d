"""The SQL names of a lake's tables on the Spark server: `bronze.<name>`, `silver.<name>` and `ledger.<name>`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import WITH_TOMBSTONES, own_columns, silver_query
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_views import (
    SOURCE_SCHEMA,
    name_forgotten,
    name_lake_objects,
    name_lake_tables,
    quarantine_query,
)
from tidegate.platform.lake.spark.catalog import TableName
from tidegate.platform.lake.threads import parallel_outcomes

_T = TypeVar("_T")


@dataclass(frozen=True)
class Unnamed:
    """A table that could not be given its SQL names; `reason` is one line."""

    table: str
    reason: str

    def __str__(self) -> str:
        return f"table {self.table} has no SQL names: {self.reason}"


class SqlNames:
    """Gives tables their SQL names, and finds a table by its name."""

    def __init__(self, lake: Lake) -> None:
        self._lake, self._births = lake, lake.store.births

    def name_tables(self) -> list[Unnamed]:
        """Give every table that exists its SQL names on the Spark server.

        Returns:
            The tables that have no names now, also those whose name lake.yaml gives to another prefix. The failure of
            one table never keeps another from its names.

        Raises:
            SparkUnreachable: the server is gone, which is not a table's fault.
            PySparkException: the server was restarted in the meantime.
        """
        unnamed: list[Unnamed] = []
        lost: list[Unnamed] = []
        ledgers = self._assign_names(self._names(sorted(self._births.tables()), unnamed, lost), unnamed)
        self._attempt(
            unnamed, "lake.quarantine", partial(name_lake_tables, self._lake.delta.catalog, self._lake.store, ledgers)
        )
        self._attempt(unnamed, "lake.forgotten", self._name_forgotten)
        return unnamed + lost

    def name_queried_tables(self, asked: Collection[str]) -> list[Unnamed]:
        """Give SQL names to the tables that a query names. The other tables cost hardly any request.

        Args:
            asked: SQL names in lower case, without schemas.

        Returns:
            The tables that have no names now, without those whose name lake.yaml gives to another prefix.
        """
        unnamed: list[Unnamed] = []
        wanted = {name.removesuffix(WITH_TOMBSTONES) for name in asked}
        born = sorted(self._births.tables())
        likely = {table_key for table_key in born if self._lake.spec(TableKey.decode(table_key)).name.lower() in wanted}
        names = self._names(sorted(likely), unnamed)
        # A table keeps the name that it was born with, which may differ from the name in lake.yaml.
        if missing := wanted - {_query_name(sql_name) for _, sql_name in names}:
            others = self._names([table_key for table_key in born if table_key not in likely], unnamed)
            names += [(table_key, sql_name) for table_key, sql_name in others if _query_name(sql_name) in missing]
        self._assign_names(names, unnamed)
        return unnamed

    def table_key_of(self, name: str) -> str | None:
        """Return the key of the table that was born with a SQL name; None if there is none.

        Args:
            name: without schema.
        """
        # Tables of lake.yaml first: a table of an earlier prefix was born with the same name.
        born = sorted(
            self._births.tables(),
            key=lambda key: (not self._lake.config.table_for(TableKey.decode(key)), key),
        )
        likely = [table_key for table_key in born if self._lake.spec(TableKey.decode(table_key)).name == name]
        for some in (likely, [table_key for table_key in born if table_key not in likely]):
            births = parallel_outcomes(self._births.read, some)
            for table_key, birth in zip(some, births, strict=True):
                if isinstance(birth, Birth) and birth.name == name:
                    return table_key
        return None

    def name_objects(self) -> None:
        """Make `lake.intake`, `lake.forgotten`, and the tables that `lake.quarantine` reads in addition to ledgers."""
        name_lake_objects(self._lake.delta.catalog, self._lake.store)
        self._name_forgotten()

    def quarantine_query(self, schema: str = SOURCE_SCHEMA) -> str:
        """Return the query of `lake.quarantine` for these tables only. Needs the tables of `name_objects`.

        Args:
            schema: another one with these tables, made by `name_object_tables`.
        """
        return quarantine_query(
            [
                (table.table_key, table.birth.name, delta_table(table.ledger.location))
                for table in self._lake.quarantining_tables()
                if table.birth
            ],
            schema,
        )

    def name_table(self, table_key: str) -> None:
        """Give a table, its ledger and its silver table their SQL names, as far as they exist.

        Raises:
            DataError: a table cannot be named.
        """
        unnamed: list[Unnamed] = []
        self._assign_names(self._names([table_key], unnamed), unnamed)
        if unnamed:
            raise DataError(str(unnamed[0]))

    def _names(
        self, table_keys: Sequence[str], unnamed: list[Unnamed], lost: list[Unnamed] | None = None
    ) -> list[tuple[str, TableName]]:
        """Return the SQL names of these tables. Their birth records are read in parallel.

        Args:
            unnamed: receives the tables that cannot be named.
            lost: receives the tables whose name lake.yaml gives to another prefix.
        """
        wanted = list(parallel_outcomes(self._names_of, table_keys))
        names: list[tuple[str, TableName]] = []
        for table_key, found in zip(table_keys, wanted, strict=True):
            sql_names, reason = self._attempt(unnamed, table_key, partial(_result_or_raise, found)) or ([], None)
            names += [(table_key, sql_name) for sql_name in sql_names]
            if reason and lost is not None:
                lost.append(Unnamed(table_key, reason))
        return names

    def _assign_names(self, names: Sequence[tuple[str, TableName]], unnamed: list[Unnamed]) -> list[tuple[str, str]]:
        """Give names in one call. Returns table key and SQL name of the tables whose ledger has a name."""
        ledgers = []
        for (table_key, sql_name), naming in zip(
            names, self._lake.delta.catalog.name_tables([sql_name for _, sql_name in names]), strict=True
        ):
            if naming.trouble is not None:
                unnamed.append(Unnamed(table_key, first_line(naming.trouble)))
            if naming.named and sql_name.schema == "ledger":
                ledgers.append((table_key, sql_name.name))
            if naming.named and sql_name.schema == "silver":
                view = sql_name.name.removesuffix(WITH_TOMBSTONES)
                silver = self._lake.spec(TableKey.decode(table_key)).silver
                query = silver_query(f"silver.{sql_name.name}", self._own_columns(silver, sql_name.location))
                self._attempt(
                    unnamed, table_key, partial(self._lake.delta.catalog.name_view, "silver", view, query, grows=True)
                )
        return ledgers

    def _own_columns(self, silver: SilverSpec | None, location: str) -> tuple[str, ...]:
        """Return Tidegate's own columns in a silver table, which an older version may have made."""
        if silver is None or not silver.leaves_values:
            return own_columns(silver)
        return own_columns(silver, [field.name for field in self._lake.delta.table_state(location).schema.fields])

    def _names_of(self, table_key: str) -> tuple[list[TableName], str | None]:
        """Return the SQL names of a table, and why another table has its name."""
        table = self._lake.table(table_key)
        birth = table.birth
        if birth is None:
            return [], None
        if reason := self._lake.lost_name(table):
            return [], reason
        names = [TableName("ledger", birth.name, table.ledger.location)]
        if not birth.output:
            names.insert(0, TableName("bronze", birth.name, birth.location))
        spec = self._lake.config.table_for(table.key)
        if spec and spec.silver:
            names.append(
                TableName("silver", f"{spec.name}{WITH_TOMBSTONES}", self._lake.store.uri("silver", spec.name))
            )
        return names, None

    def _name_forgotten(self) -> None:
        if self._lake.config.forget is not None:
            name_forgotten(self._lake.delta.catalog, self._lake.store)

    def _attempt(self, unnamed: list[Unnamed], table: str, name: Callable[[], _T]) -> _T | None:
        try:
            return name()
        except Exception as error:
            self._lake.delta.check_session_alive()
            unnamed.append(Unnamed(table, first_line(error)))
            return None


def _query_name(name: TableName) -> str:
    """Return the name that a query uses: case does not count, and the view of a silver table has the name."""
    return name.name.removesuffix(WITH_TOMBSTONES).lower()


def _result_or_raise(found: _T | Exception) -> _T:
    if isinstance(found, Exception):
        raise found
    return found
