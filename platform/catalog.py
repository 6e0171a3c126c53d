"""Brings the entries of the Glue Data Catalog in step with the tables.

A run whose batch or merge changed the columns of its table brings the entries of this table in step, after the commit.
Any other run sends no request. What such a run could not do, the asset `catalog` does: it compares everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from pyspark.errors import PySparkException

from tidegate.platform.core.catalog.descriptions import OWN_COLUMNS, column_descriptions
from tidegate.platform.core.catalog.entry import OWNER, TABLE, CatalogEntry, owner_of, table_entry, view_entry
from tidegate.platform.core.config.lake import CatalogSpec, LakeConfig
from tidegate.platform.core.config.silver_columns import WITH_TOMBSTONES, own_columns
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.glue import Glue
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.lake_root.births import Births
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.server_errors import SparkUnreachable

#: What one table can have that the others do not: a birth record or a log that cannot be read.
_TABLE_ERRORS = (ValueError, StoreError, PySparkException)


@dataclass(frozen=True)
class CatalogChange:
    """What becomes of an entry, or why it cannot be as it should be.

    Attributes:
        entry: `database.name`, or the key of a table that cannot be read.
        what: one line for people.
        failed: whether it needs a person, because the entry is not as it should be.
    """

    entry: str
    what: str
    failed: bool = False

    def __str__(self) -> str:
        return f"{self.entry}: {self.what}"


@dataclass(frozen=True)
class CatalogSync:
    """A comparison of the whole catalog.

    Attributes:
        entries: number of entries that the tables should have.
        changes: what was, or would be, changed, and what could not be.
    """

    entries: int
    changes: Sequence[CatalogChange]

    @property
    def failed(self) -> list[CatalogChange]:
        """Entries that are not as they should be."""
        return [change for change in self.changes if change.failed]


def sync_table(lake: Lake, table_key: str, log: Callable[[str], None]) -> None:
    """Bring the entries of one table in step. Without `catalog` in lake.yaml nothing is done.

    It follows a commit, and its failure is not a failure of the commit: it is logged.
    """
    if lake.catalog is None:
        return
    try:
        for entry in entries_of(lake, lake.table(table_key)):

            def keeps(holder: str, entry: CatalogEntry = entry) -> bool:
                return any(_is_same_entry(entry, other) for other in entries_of(lake, lake.table(holder)))

            found = lake.catalog.table(entry.database, entry.name)
            change = _settle(lake.catalog, entry, found, keeps, dry_run=False)
            if change is not None:
                log(f"{'WARNING: ' if change.failed else ''}catalog: {change}")
    except (BotoCoreError, ClientError, SparkUnreachable, *_TABLE_ERRORS) as error:
        log(f"WARNING: the catalog does not follow yet: {first_line(error)}. `tidegate catalog sync` repeats it")


def sync_catalog(lake: Lake, *, dry_run: bool) -> CatalogSync:
    """Bring all entries in step, and delete entries of this lake that no table should have any more.

    A table that cannot be read is a change that failed, and its entries stay as they are.

    Raises:
        BadSetting: lake.yaml has no `catalog`.
        ClientError: a database cannot be read.
        StoreError: S3 did not answer.
        SparkUnreachable: no Spark server answers.
        PySparkException: the Spark server was restarted in the meantime.
    """
    spec, catalog = lake.config.catalog, lake.catalog
    if spec is None or catalog is None:
        raise BadSetting("lake.yaml has no `catalog`: give it the databases of Glue that should have the tables")
    lake_id = lake.id
    wanted, tables, changes = _wanted_entries(lake)
    unread = {change.entry for change in changes}
    for database in filter(None, (spec.bronze, spec.silver)):
        found = catalog.tables(database) or {}
        here = [entry for entry in wanted if entry.database == database]

        def settle_entry(entry: CatalogEntry, found: Any = found) -> CatalogChange | None:
            def keeps_name(holder: str) -> bool:
                return holder in unread or any(
                    _is_same_entry(entry, other) for other in wanted if other.table_key == holder
                )

            return _settle(catalog, entry, found.get(entry.name), keeps_name, dry_run=dry_run)

        # One after another: Glue limits the rate of writes, and an unchanged entry needs no request.
        changes += [change for entry in here if (change := settle_entry(entry))]
        names = {entry.name for entry in here} | (
            _awaited_names(lake.config, lake.store.births, spec) if database == spec.silver else set()
        )
        changes += [
            _attempt(
                f"{database}.{name}",
                f"deleted, because {_why_deleted(lake.config, spec, table, tables)}",
                make_deletion(catalog, table, dry_run),
            )
            for name, table in found.items()
            if owner_of(table) == lake_id and name not in names and table["Parameters"].get(TABLE) not in unread
        ]
    return CatalogSync(len(wanted), changes)


def _wanted_entries(lake: Lake) -> tuple[list[CatalogEntry], dict[str, Table], list[CatalogChange]]:
    """Return the entries of all tables, the tables by key, and a failure for each table that cannot be read."""
    wanted: list[CatalogEntry] = []
    tables: dict[str, Table] = {}
    failures: list[CatalogChange] = []
    for table_key in sorted(lake.store.births.tables()):
        try:
            table = lake.table(table_key)
            wanted += list(entries_of(lake, table))
            tables[table_key] = table
        except _TABLE_ERRORS as error:
            if isinstance(error, PySparkException):
                lake.delta.check_session_alive()  # Without it each table would fail, with the same reason.
            reason = f"cannot be read, so its entries stay as they are: {first_line(error)}"
            failures.append(CatalogChange(table_key, reason, failed=True))
    return wanted, tables, failures


def _awaited_names(config: LakeConfig, births: Births, spec: CatalogSpec) -> set[str]:
    """Return names of silver whose table in lake.yaml is not born, such as after a change of its prefix.

    The silver table itself stays until then, so its entries stay as they are.
    """
    born = set(births.tables())
    awaited = [table for table in config.tables if table.silver and table.table_key.encode() not in born]
    named = [table.name for table in awaited if spec.has(table.name)]
    return {name.lower() for table in named for name in (table, f"{table}{WITH_TOMBSTONES}")}


def _why_deleted(config: LakeConfig, spec: CatalogSpec, found: Mapping[str, Any], tables: Mapping[str, Table]) -> str:
    """Return why no table should have an entry of this lake.

    Args:
        spec: the databases.
        found: the entry, as Glue has it.
        tables: all tables of the lake by key.
    """
    table = tables.get(found["Parameters"].get(TABLE, ""))
    if table is None or table.birth is None or table.birth.output:
        return "its table is gone"
    if not spec.has(table.birth.name):
        return "`catalog.tables` in lake.yaml leaves its table out"
    name = table.birth.name
    if found["DatabaseName"] == spec.silver:
        configured = config.table_for(table.key)
        if configured is None or configured.silver is None:
            return "its table has no `silver` in lake.yaml"
        name = configured.name
    names = (name.lower(), f"{name}{WITH_TOMBSTONES}".lower())
    return "its table is gone" if found["Name"] in names else f"its table has the name {name} now"


def entries_of(lake: Lake, table: Table) -> Iterator[CatalogEntry]:
    """Yield the entries that a table should have, those of its silver table too. None before its birth."""
    spec = lake.config.catalog
    if spec is None or table.birth is None or table.birth.output or not spec.has(table.birth.name):
        return
    owner, configured = (lake.id, table.table_key), lake.config.table_for(table.key)
    if spec.bronze and lake.lost_name(table) is None:
        state = lake.delta.table_state(table.birth.location)
        if state.has_columns:
            texts = column_descriptions(configured) if configured else OWN_COLUMNS
            yield table_entry(spec.bronze, table.birth.name, _s3(table.birth.location), state.schema, owner, texts)
    if spec.silver and configured and configured.silver:
        yield from _silver(lake.delta, lake.store, spec.silver, configured, owner)


def _silver(
    delta: Delta, store: LakeStore, database: str, spec: TableSpec, owner: tuple[str, str]
) -> Iterator[CatalogEntry]:
    location, name = store.uri("silver", spec.name), f"{spec.name}{WITH_TOMBSTONES}"
    state = delta.table_state(location)
    if state.has_columns:
        texts = column_descriptions(spec)
        table = table_entry(database, name, _s3(location), state.schema, owner, texts)
        yield table
        own = own_columns(spec.silver, [field.name for field in state.schema.fields])
        yield view_entry(database, spec.name, table.name, state.schema, own, owner, texts)


def _is_same_entry(entry: CatalogEntry, other: CatalogEntry) -> bool:
    return (entry.database, entry.name) == (other.database, other.name)


def _settle(
    catalog: Glue, entry: CatalogEntry, found: Any, keeps: Callable[[str], bool], *, dry_run: bool
) -> CatalogChange | None:
    """Create or update one entry, if it is not as it should be. Somebody else's entry stays as it is."""
    named = f"{entry.database}.{entry.name}"
    names = ", ".join(map(repr, entry.left_out))
    left_out = f", without {names}: Hive has no type for it, or Glue no room" if names else ""
    if found is None:
        return _attempt(
            named, f"created{left_out}", None if dry_run else lambda: catalog.create(entry.database, entry.input)
        )
    if not entry.is_ours(found, keeps):
        return CatalogChange(named, _foreign_entry_error(entry, found), failed=True)
    differing = entry.different_parts(found)
    if not differing:
        return None

    def update() -> None:
        catalog.update(entry.database, entry.merge_input(found), found.get("VersionId"))

    return _attempt(named, f"updated: {', '.join(differing)}{left_out}", None if dry_run else update)


def make_deletion(catalog: Glue, table: Any, dry_run: bool) -> Callable[[], None] | None:
    """Return what deletes an entry of Glue. None in a dry run."""
    return None if dry_run else lambda: catalog.delete(table["DatabaseName"], table["Name"])


def _attempt(entry: str, what: str, write: Callable[[], None] | None) -> CatalogChange:
    """Make one change. A refusal is a change that failed, so that other entries do not wait for it."""
    try:
        if write is not None:
            write()
    except (BotoCoreError, ClientError) as error:
        return CatalogChange(
            entry, f"could not be {what.partition(':')[0].partition(',')[0]}: {first_line(error)}", failed=True
        )
    return CatalogChange(entry, what)


def _foreign_entry_error(entry: CatalogEntry, found: Any) -> str:
    theirs, ours = found.get("Parameters") or {}, entry.input["Parameters"]
    if theirs.get(OWNER) == ours[OWNER]:
        return f"is the entry of the table {theirs.get(TABLE)}: give one of the two tables another `name` in lake.yaml"
    return (
        "somebody else made it, so it stays as it is: drop it in Glue, or give the table another `name`, or the "
        "catalog another database, in lake.yaml"
    )


def _s3(location: str) -> str:
    return S3Address.parse_s3a(location).s3
