"""One silver merge: a change set of bronze, reduced to one row per key, merged in one commit with its mark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.errors import PySparkException

from tidegate.assets.maintenance.compaction import compact, is_due, passes
from tidegate.assets.presentation.volume import total
from tidegate.assets.silver.aligned import aligned
from tidegate.assets.silver.changes import Changes, gather
from tidegate.assets.silver.pending import Pending, pending
from tidegate.platform.core.config.silver_columns import missing_columns
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.failpoints import seam
from tidegate.platform.core.first_line import first_line
from tidegate.platform.core.schema.column_types import Field, quoted
from tidegate.platform.core.schema.names import SOURCE_COLUMNS, needs_mapping
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import BY_NAME, TableSchema, columns_sql
from tidegate.resources.lake import CHANGED_AT, CHANGED_BATCH, DELETED, SILVER_COLUMNS, Lake
from tidegate.resources.spark.delta import Merging
from tidegate.resources.spark.session import command

#: The seams of a merge, in order; each lies right after the step that it is named for.
SEAMS = ("silver-create", "silver-gather", "silver-merge")

_ATTEMPTS = 6
#: How the conditions begin of a commit that another one came before: Delta's and ours.
_OVERTAKEN = ("DELTA_CONCURRENT", "TIDEGATE_BUSY")
#: Expired tombstones are purged each time that the mark passes a multiple of this.
_PURGE_EVERY = 50


@dataclass(frozen=True)
class Merged:
    """What a merge did.

    Attributes:
        version: Delta version of the silver table afterwards.
        n: the mark: last batch that silver holds now.
        batches: how many were merged.
        volume: what they brought, as metadata.
        why_full: why the whole bronze table was merged; None if it was not.
    """

    version: int
    n: int
    batches: int
    volume: dict[str, int | float]
    why_full: str | None
    inserted: int
    updated: int
    deleted: int


def merge_table(lake: Lake, spec: TableSpec, log: Callable[[str], None] = lambda _: None) -> Merged | None:
    """Bring a silver table up to its ledger's last batch; None if it is there already.

    Where much waits it takes several merges, each with its own mark: what is merged stays so if a later merge fails. A
    merge that loses against another commit (another merge, OPTIMIZE, …) starts again from a fresh look.

    Raises:
        PySparkException: a merge lost ``_ATTEMPTS`` times, or failed otherwise.
    """
    goal: int | None = None
    done: list[Merged] = []
    attempt = 0
    while True:
        work = pending(lake, spec)
        if work is None or (goal is not None and (work.mark or 0) >= goal):
            return _together(done) if done else None
        # What bronze takes in meanwhile is the next run's.
        goal = goal or work.n
        try:
            done.append(_merge(lake, work, log))
            attempt = 0
        except PySparkException as error:
            attempt += 1
            if not (error.getCondition() or "").startswith(_OVERTAKEN) or attempt == _ATTEMPTS:
                raise
            log(f"another commit came first, looking again: {first_line(error)}")
            time.sleep(0.1 * 2**attempt)


def _together(steps: Sequence[Merged]) -> Merged:
    """What several merges did, one behind the other."""
    return replace(
        steps[-1],
        batches=sum(one.batches for one in steps),
        volume=total([one.volume for one in steps]),
        why_full=next((one.why_full for one in steps if one.why_full), None),
        inserted=sum(one.inserted for one in steps),
        updated=sum(one.updated for one in steps),
        deleted=sum(one.deleted for one in steps),
    )


def _merge(lake: Lake, work: Pending, log: Callable[[str], None]) -> Merged:
    columns = _columns(work)
    widened = work.silver.exists and _widen(lake, work, columns)
    if not work.silver.exists:
        _create(lake, work, columns)
    have = lake.delta.table_state(work.location).schema if widened else work.silver.schema
    # Also where an earlier merge died before its mark: perhaps before it gave the names.
    if widened or work.mark is None:
        _name(lake, work, log)
    seam("silver-create")
    changes = gather(lake.delta, work)
    seam("silver-gather")
    log(f"merging batches {(work.mark or 0) + 1}..{changes.n}" + (f" of {work.n}" if changes.n < work.n else ""))
    if changes.why_full:
        log(f"full merge: {changes.why_full}")
    _purge(lake, work, changes.n)
    merging = _merging(work, changes, columns, have)
    merged = lake.delta.merge(work.location, merging, changes.view, work.app_id, changes.n)
    seam("silver-merge")
    if (merged.txn or 0) < changes.n:
        raise RuntimeError(
            f"the merge of silver.{work.table.spec.name} returned, but its table says batch {merged.txn}, not "
            f"{changes.n}; it will be merged again"
        )
    if is_due(work.mark or 0, changes.n):
        compact(lake.delta, work.location, f"silver.{work.table.spec.name}", log)
    return Merged(
        merged.version,
        changes.n,
        changes.batches,
        changes.volume,
        changes.why_full,
        merged.inserted,
        merged.updated,
        merged.deleted,
    )


def _name(lake: Lake, work: Pending, log: Callable[[str], None]) -> None:
    """Give silver its SQL names; a merge is never kept waiting for them."""
    try:
        lake.name_table(work.table.text)
    except RuntimeError as error:
        log(f"WARNING: {error}")


def _columns(work: Pending) -> tuple[Field, ...]:
    """Bronze's columns without those that Tidegate adds to loaded tables.

    Raises:
        ValueError: bronze has no column that lake.yaml names, one by the name of a column of silver's own, or one in
            another type than silver.
    """
    birth = work.table.birth
    ours = () if birth is not None and birth.registered else SOURCE_COLUMNS
    columns = tuple(field for field in work.bronze.schema.fields if field.name not in ours)
    silver = f"silver.{work.table.spec.name}"
    names = [field.name for field in columns]
    if taken := [name for name in names if name.lower() in SILVER_COLUMNS]:
        raise ValueError(f"{silver}: bronze has a column {taken[0]!r}, and silver one of its own by that name")
    if missing := missing_columns(work.spec, names):
        raise ValueError(
            f"{silver}: bronze has no column {missing[0]!r}, which lake.yaml names in `silver`; "
            f"it has {', '.join(names)}"
        )
    for name, ours_now, theirs in work.silver.schema.retyped(columns):
        raise ValueError(
            f"{silver}: column {name} is {ours_now.sql()}, and {theirs.sql()} in bronze: bronze was reset since, or "
            "somebody changed the type in silver. Values would change on their way: give the table another `name` in "
            "lake.yaml, and a new silver table is merged"
        )
    return columns


def _create(lake: Lake, work: Pending, columns: Sequence[Field]) -> None:
    own = [
        Field(DELETED, simple_type("boolean")),
        Field(CHANGED_BATCH, simple_type("bigint")),
        Field(CHANGED_AT, simple_type("timestamp")),
    ]
    properties = {"tidegate.lake": lake.id, "delta.enableDeletionVectors": "true"}
    if needs_mapping(columns):
        properties |= BY_NAME
    try:
        command(
            lake.delta.session,
            f"CREATE TABLE IF NOT EXISTS delta.`{work.location}` ({columns_sql([*columns, *own])}) USING delta "
            f"TBLPROPERTIES ({_properties(properties)})",
        )
    except PySparkException:
        if not lake.delta.table_state(work.location).exists:
            raise


def _widen(lake: Lake, work: Pending, columns: Sequence[Field]) -> bool:
    """Give silver the columns that bronze has got since; whether there are some."""
    if not any(work.silver.schema.missing(columns)):
        return False
    lake.delta.add_columns(work.location, work.silver.schema.adding(columns))
    return True


def _properties(properties: Mapping[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())


def _purge(lake: Lake, work: Pending, n: int) -> None:
    if passes(_PURGE_EVERY, work.mark or 0, n):
        command(
            lake.delta.session,
            f"DELETE FROM delta.`{work.location}` WHERE {DELETED} AND {CHANGED_AT} < "
            f"current_timestamp() - INTERVAL {work.spec.tombstone_days} DAYS",
        )


def _merging(work: Pending, changes: Changes, columns: Sequence[Field], silver: TableSchema) -> Merging:
    keys = ", ".join(quoted(key) for key in work.spec.keys)
    order = quoted(work.spec.order)
    # On lines of its own: it may end in a comment.
    dead = f"coalesce((\n{work.spec.delete_when}\n), false)" if work.spec.delete_when else "false"
    places = (
        f"SELECT *, row_number() OVER (PARTITION BY {keys} ORDER BY {order} DESC NULLS LAST, "
        f"_tidegate_n DESC, _tidegate_path DESC, _tidegate_row DESC) AS _tidegate_place FROM {changes.view}"
    )
    own = {
        DELETED: f"{dead} AS {DELETED}",
        CHANGED_BATCH: f"_tidegate_n AS {CHANGED_BATCH}",
        CHANGED_AT: f"current_timestamp() AS {CHANGED_AT}",
    }
    # What bronze has by the type that silver has it in; a new silver table has bronze's.
    types = {field.name: (field.type, (silver.named(field.name) or field).type) for field in columns}

    def given(name: str, side: str = "", kept: str | None = None) -> str:
        return aligned(*types[name], f"{side}{quoted(name)}", kept)

    def query(values: Iterable[str]) -> str:
        return f"SELECT {', '.join([*values, *own.values()])} FROM ({places}) WHERE _tidegate_place = 1"

    rows = query(f"{given(name)} AS {quoted(name)}" for name in types)
    same = " AND ".join(f"t.{quoted(key)} <=> s.{quoted(key)}" for key in work.spec.keys)
    # Batches of another table or generation are numbered anew: theirs say nothing against these.
    anew = work.mark is None and work.silver.files > 0
    later = "" if anew else f" AND s.{CHANGED_BATCH} >= t.{CHANGED_BATCH}"
    newer = (
        f"s.{order} > t.{order} OR (t.{order} IS NULL AND s.{order} IS NOT NULL) OR (s.{order} <=> t.{order}{later})"
    )
    assigned = ", ".join(
        [
            *(f"t.{quoted(name)} = {given(name, 's.', f't.{quoted(name)}')}" for name in types),
            *(f"t.{name} = s.{name}" for name in own),
        ]
    )
    targets = ", ".join(quoted(name) for name in (*types, *own))
    values = ", ".join([*(given(name, "s.") for name in types), *(f"s.{name}" for name in own)])
    # A full merge that follows removals makes silver what bronze's live rows say, older rows included.
    rebuilds = changes.why_full is not None and work.spec.on_removed == "full"
    # So does one that follows a redrive or a rebuild, but for the rows of before a reset (batch 0): of those bronze
    # says nothing.
    ours = f"t.{CHANGED_BATCH} > 0"
    if rebuilds:
        matched, gone = "WHEN MATCHED", "WHEN NOT MATCHED BY SOURCE THEN DELETE"
    elif changes.replaced:
        matched, gone = f"WHEN MATCHED AND ({ours} OR {newer})", f"WHEN NOT MATCHED BY SOURCE AND {ours} THEN DELETE"
    else:
        matched, gone = f"WHEN MATCHED AND ({newer})", ""
    renumbered = f"THEN UPDATE SET t.{CHANGED_BATCH} = 0" if anew and not rebuilds else ""
    clauses = [
        f"{matched} THEN UPDATE SET {assigned}",
        f"WHEN MATCHED {renumbered}" if renumbered else "",
        f"WHEN NOT MATCHED THEN INSERT ({targets}) VALUES ({values})",
        f"WHEN NOT MATCHED BY SOURCE {renumbered}" if renumbered else "",
        gone,
    ]
    raw = query(map(quoted, types))
    statement = f"MERGE INTO delta.`{work.location}` t USING ({raw}) s ON {same} {' '.join(filter(None, clauses))}"
    # Of a merge of all rows nobody knows how many there are. An empty table takes them in the short way, however many.
    short = not gone and not renumbered and (changes.why_full is None or work.silver.files == 0)
    # A field that bronze lacks stays as it is in the row that is replaced.
    shared = (Field(name, has) for name, (_, has) in types.items())
    short = short and not any(TableSchema(tuple(columns)).missing(shared))
    return Merging(rows, work.spec.keys, newer if short else None, int(changes.volume["rows"]), statement)
