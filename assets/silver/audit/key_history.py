"""The history of a key: every row of bronze that has it, what became of each row, and what silver has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.assets.silver.audit.found_rows import MAX_ROWS, BronzeRow, FoundRow, bronze_rows, silver_rows
from tidegate.assets.silver.audit.key_rows import KeyRows, N
from tidegate.assets.silver.pending import PendingMerge, merge_state
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.silver.columns import WITH_TOMBSTONES
from tidegate.platform.core.silver.key_values import key_values
from tidegate.platform.core.silver.row_fates import Fate, KeyRow, RowFates, row_fates
from tidegate.platform.core.times import from_micros
from tidegate.resources.lake import Lake


@dataclass(frozen=True)
class Event:
    """A row of bronze, what became of it, and that as a sentence."""

    found: BronzeRow
    fate: Fate
    why: str

    @property
    def row(self) -> KeyRow:
        """The row."""
        return self.found.row

    @property
    def recorded_at(self) -> datetime | None:
        """When its batch was recorded."""
        decision = self.found.decision
        return from_micros(decision.stamp.recorded_at) if decision else None

    @property
    def event(self) -> str:
        """The event that announced its file, and the run that read it."""
        decision = self.found.decision
        if decision is None:
            return "its file was rewritten, so its batch is not known"
        event = f"{decision.row.event_name or 'no event'} {decision.row.event_id or ''}".strip()
        return f"{event}, run {decision.stamp.run_id or 'unknown'}"


@dataclass(frozen=True)
class KeyHistory:
    """The rows of one key of a silver table.

    Attributes:
        table: SQL name of the silver table.
        key: the key, as `order_id = 42`.
        events: the rows of bronze, the newest first.
        more: whether bronze has more rows, which are older.
        silver: silver's row. None if it has none.
        verdict: what silver has, and why.
        is_right: whether silver has what bronze gives.
        sql: queries that show the rows in bronze and in silver.
    """

    table: str
    key: str
    events: tuple[Event, ...]
    more: bool
    silver: FoundRow | None
    verdict: str
    is_right: bool
    sql: tuple[str, ...]


def key_history(lake: Lake, spec: TableSpec, given: Sequence[str]) -> KeyHistory:
    """Follow a key from the files of bronze to its row of silver. Nothing is changed.

    Args:
        lake: the lake.
        spec: the table.
        given: the key, as `part=value` for each of its parts.

    Raises:
        WrongKey: the arguments are no key of the table.
        ValueError: the table has no `silver`, or no rows yet, or does not fit the rules of `lake.yaml`. Or
            it has the history of each key, which shows every change itself.
    """
    if spec.silver is None:
        raise ValueError(f"table {spec.name} has no `silver` in lake.yaml, so no row is merged by a key")
    name = f"silver.{spec.name}"
    if spec.silver.is_history:
        raise ValueError(
            f"{name} has the history of each key (stored_as: scd2), so it shows every change itself: SELECT * FROM "
            f"{name}{WITH_TOMBSTONES} WHERE … ORDER BY valid_from"
        )
    if not spec.silver.depends_on_keys_only:
        raise ValueError(
            f"{name} is merged from full dumps (from: snapshots), which delete the keys that they do not have: "
            f"SELECT * FROM bronze.{spec.name} has the rows of each dump"
        )
    values = key_values(name, spec.silver.keys, given)
    work = merge_state(lake, spec)
    if work is None or not work.bronze.has_columns:
        raise ValueError(f"bronze.{spec.name} has no rows yet, so {name} has none")
    rows = KeyRows.of(lake, work)
    rows.check(lake, values)
    condition = rows.condition(values)
    found = next(iter(bronze_rows(lake, rows, condition).values()), [])
    own = next(iter(silver_rows(lake, rows, condition).values()), None)
    kept = [each.row for each in found[:MAX_ROWS]]
    fates = row_fates(kept, None if own is None else own.row, work.mark or 0)
    key = " and ".join(
        f"{part} = {'NULL' if value is None else value}" for part, value in zip(work.spec.keys, values, strict=True)
    )
    return KeyHistory(
        table=name,
        key=key,
        events=tuple(
            Event(each, fate, _why(fate, each.row, kept, fates, name))
            for each, fate in zip(found, fates.fates, strict=False)
        ),
        more=len(found) > MAX_ROWS,
        silver=own,
        verdict=_verdict(name, spec.name, kept, fates, own, work),
        is_right=fates.is_right,
        sql=_sql(rows, values),
    )


def _why(fate: Fate, row: KeyRow, rows: Sequence[KeyRow], fates: RowFates, name: str) -> str:
    winner = None if fates.winner is None else rows[fates.winner]
    by = "the newest row" if winner is None else _batch(winner)
    return {
        Fate.WON: f"{name} has this row" if fates.is_right else f"{name} should have this row",
        Fate.TOMBSTONE: "deletes the key: silver has a tombstone",
        Fate.EXPIRED: "the key was deleted, and its tombstone was removed after `tombstone_days`",
        Fate.OLDER: f"older than {by}",
        Fate.TIE: f"its order is equal to that of {by}, which came later",
        Fate.TRUNCATED: "older than the newest truncate of the table",
        Fate.EXPECTATION: f"violates the expectation {row.violated} of expect_or_drop",
        Fate.SKIPPED: "left out by skip_when",
        Fate.TRUNCATES: "deletes every older row of the table",
        Fate.WAITS: "not merged yet",
    }[fate]


def _batch(row: KeyRow) -> str:
    return "a row of an unknown batch" if row.n is None else f"the row of batch {row.n}"


def _verdict(
    name: str, table: str, rows: Sequence[KeyRow], fates: RowFates, silver: FoundRow | None, work: PendingMerge
) -> str:
    waits = sum(fate is Fate.WAITS for fate in fates.fates)
    later = (
        f"; {waits} rows wait for the next merge (silver holds batch {work.mark or 0}, the ledger has {work.n})"
        if waits
        else ""
    )
    if not rows:
        found = f"bronze.{table} has no row with this key"
        return f"{found}, and {name} has one: its rows left bronze, or somebody wrote to silver" if silver else found
    if fates.winner is None:
        return f"{name} has {'a row' if silver else 'no row'}: no row of bronze is a change that was merged{later}"
    if not fates.is_right:
        has = "another row" if silver else "no row"
        return (
            f"{name} should have {_batch(rows[fates.winner])}, and has {has}: somebody changed silver, rows of bronze "
            f"were replaced or deleted, or `silver` in lake.yaml has changed since{later}"
        )
    if silver is None or silver.row.deleted:
        return f"{name} shows no row: {_batch(rows[fates.winner])} deleted the key{later}"
    return f"{name} has {_batch(rows[fates.winner])}{later}"


def _sql(rows: KeyRows, values: Sequence[str | None]) -> tuple[str, ...]:
    """Returns queries for `tidegate sql`: the key's rows in bronze, and its row in silver."""
    birth = rows.work.table.birth
    name = birth.name if birth is not None else rows.work.table.spec.name
    condition = rows.condition(values)
    view = rows.view(f"bronze.{name}")
    bronze = (
        f"SELECT * FROM ({rows.bronze(f'({view})')}) WHERE {condition} ORDER BY {rows.rules.newest_first}, {N} DESC"
    )
    silver = f"SELECT * FROM silver.{rows.work.table.spec.name}{WITH_TOMBSTONES} WHERE {condition}"
    return tuple(" ".join(query.split()) for query in (bronze, silver))
