"""The history of a key: every row of bronze that has it, what became of each row, and what silver has."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from pyspark.sql import Row

from tidegate.assets.silver.audit.key_rows import BLOCK, FILE, SKIPPED, TRUNCATES, KeyRows, N
from tidegate.assets.silver.pending import merge_state
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.own_paths import COPIES
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.silver.columns import CHANGED_AT, CHANGED_BATCH, DELETED
from tidegate.platform.core.silver.key_values import key_values
from tidegate.platform.core.silver.row_fates import Fate, KeyRow, RowFates, SilverRow, row_fates
from tidegate.platform.core.times import from_micros
from tidegate.resources.lake import WITH_TOMBSTONES, Lake
from tidegate.resources.ledger import Decision

#: Rows of one key that are read, the newest first.
_MAX_ROWS = 1_000


@dataclass(frozen=True)
class Event:
    """A row of bronze with what the ledger has of its file.

    Attributes:
        row: the row.
        fate: what became of it.
        why: the fate as a sentence.
        order: its order, as JSON of a list.
        address: `s3://` address of its file.
        decision: the ledger's decision of the batch that brought it. None if the batch is not known.
    """

    row: KeyRow
    fate: Fate
    why: str
    order: str
    address: str
    decision: Decision | None

    @property
    def recorded_at(self) -> datetime | None:
        """When its batch was recorded."""
        return from_micros(self.decision.stamp.recorded_at) if self.decision else None

    @property
    def event(self) -> str:
        """The event that announced its file, and the run that read it."""
        if self.decision is None:
            return "its file was rewritten, so its batch is not known"
        row = self.decision.row
        event = f"{row.event_name or 'no event'} {row.event_id or ''}".strip()
        return f"{event}, run {self.decision.stamp.run_id or 'unknown'}"


@dataclass(frozen=True)
class KeyHistory:
    """The rows of one key of a silver table.

    Attributes:
        table: SQL name of the silver table.
        key: the key, as `order_id = 42`.
        events: the rows of bronze, the newest first.
        more: whether bronze has more rows, which are older.
        silver: silver's row as JSON, with its own columns. None if it has none.
        verdict: what silver has, and why.
        is_right: whether silver has what bronze gives.
        sql: queries that show the rows in bronze and in silver.
    """

    table: str
    key: str
    events: tuple[Event, ...]
    more: bool
    silver: dict[str, Any] | None
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
    values = key_values(name, spec.silver.keys, given)
    work = merge_state(lake, spec)
    if work is None or not work.bronze.has_columns:
        raise ValueError(f"bronze.{spec.name} has no rows yet, so {name} has none")
    rows = KeyRows.of(lake, work)
    rows.check(lake, values)
    found = _bronze(lake, rows, rows.condition(values))
    decisions = _decisions(rows, [row[FILE] for row in found])
    mark = work.mark or 0
    kept = [_key_row(row, decisions) for row in found[:_MAX_ROWS]]
    own = _silver(lake, rows, rows.condition(values))
    silver = None if own is None else SilverRow(own["_values"], own[DELETED])
    fates = row_fates(kept, silver, mark)
    events = [
        Event(
            row, fate, _why(fate, kept, fates, name), each["_order"], _address(rows, each[FILE]),
            decisions.get((each[FILE], row.n)),
        )
        for row, fate, each in zip(kept, fates.fates, found, strict=False)
    ]  # fmt: skip
    events.sort(key=lambda event: (-event.row.rank, event.row.arrival), reverse=True)
    key = " and ".join(
        f"{part} = {'NULL' if value is None else value}" for part, value in zip(work.spec.keys, values, strict=True)
    )
    return KeyHistory(
        name,
        key,
        tuple(events),
        len(found) > _MAX_ROWS,
        None if own is None else _shown(own),
        _verdict(name, spec.name, kept, fates, silver, mark, work.n),
        fates.is_right,
        _sql(rows, values),
    )


def _bronze(lake: Lake, rows: KeyRows, condition: str) -> list[Row]:
    """Returns bronze's rows of a key, the newest first."""
    session, view = lake.delta.session, f"key_{uuid.uuid4().hex}"
    session.sql(rows.view(f"delta.`{_location(rows)}`")).createOrReplaceTempView(view)
    try:
        query = (
            f"SELECT {N}, {FILE}, {BLOCK}, {SKIPPED}, {TRUNCATES}, {DELETED}, {rows.is_truncated()} AS _truncated, "
            f"dense_rank() OVER (ORDER BY {rows.newest}) AS _rank, {rows.order} AS _order, "
            f"{rows.compared(silver=False)} AS _values, monotonically_increasing_id() AS _row "
            f"FROM ({rows.bronze(view)}) WHERE {condition}"
        )
        return session.sql(f"{query} ORDER BY _rank, {N} DESC NULLS LAST LIMIT {_MAX_ROWS + 1}").collect()
    finally:
        session.catalog.dropTempView(view)


def _silver(lake: Lake, rows: KeyRows, condition: str) -> Row | None:
    """Returns silver's row of a key; None if it has none."""
    if not rows.work.silver.exists:
        return None
    found = lake.delta.session.sql(
        f"SELECT {DELETED}, {CHANGED_BATCH}, CAST({CHANGED_AT} AS STRING) AS {CHANGED_AT}, "
        f"{rows.compared(silver=True)} AS _values FROM delta.`{rows.work.location}` WHERE {condition}"
    ).collect()
    return found[0] if found else None


def _location(rows: KeyRows) -> str:
    birth = rows.work.table.birth
    if birth is None:
        raise AssertionError("a table with batches has been born")
    return birth.location


def _decisions(rows: KeyRows, files: Sequence[str]) -> Mapping[tuple[str, int | None], Decision]:
    """Returns the decisions that committed some files, by file and batch."""
    table, work = rows.work.table, rows.work
    keys = {file: S3Address.parse(_address(rows, file)).key for file in dict.fromkeys(files)}
    by_key: dict[str, list[Decision]] = {}
    for decision in table.ledger.history(work.recorded, *dict.fromkeys(keys.values())):
        if decision.row.status is Status.COMMITTED:
            by_key.setdefault(decision.row.key, []).append(decision)
    found: dict[tuple[str, int | None], Decision] = {}
    for file, key in keys.items():
        for decision in by_key.get(key, ()):
            found[file, decision.stamp.n] = decision
            if rows.is_registered:
                found[file, None] = decision  # the last one: rows of such a table do not have their batch
    return found


def _key_row(row: Row, decisions: Mapping[tuple[str, int | None], Decision]) -> KeyRow:
    n = row[N]
    if n is None and (last := decisions.get((row[FILE], None))):
        n = last.stamp.n
    place = (row[FILE], row[BLOCK] or 0, row["_row"])
    return KeyRow(row["_rank"], n, place, row["_values"], row[DELETED], row[SKIPPED], row[TRUNCATES], row["_truncated"])


def _address(rows: KeyRows, file: str) -> str:
    """Returns the address of the producer's file: for a copy, of the object that it was made of."""
    if not rows.is_registered:
        return file
    path = unquote(file).removeprefix(_location(rows)).lstrip("/")
    if path.startswith(f"{COPIES}/"):
        path = path.removeprefix(f"{COPIES}/").rpartition("/")[0]
    return S3Address(rows.work.table.key.bucket, f"{rows.work.table.key.prefix}{path}").s3


def _why(fate: Fate, rows: Sequence[KeyRow], fates: RowFates, name: str) -> str:
    winner = None if fates.winner is None else rows[fates.winner]
    by = "the newest row" if winner is None else _batch(winner)
    return {
        Fate.WON: f"{name} has this row" if fates.is_right else f"{name} should have this row",
        Fate.TOMBSTONE: "deletes the key: silver has a tombstone",
        Fate.EXPIRED: "the key was deleted, and its tombstone was removed after `tombstone_days`",
        Fate.OLDER: f"older than {by}",
        Fate.TIE: f"its order is equal to that of {by}, which came later",
        Fate.TRUNCATED: "older than the newest truncate of the table",
        Fate.SKIPPED: "no change, by skip_when",
        Fate.TRUNCATES: "deletes every older row of the table",
        Fate.WAITS: "not merged yet",
    }[fate]


def _batch(row: KeyRow) -> str:
    return "a row of an unknown batch" if row.n is None else f"the row of batch {row.n}"


def _verdict(
    name: str, table: str, rows: Sequence[KeyRow], fates: RowFates, silver: SilverRow | None, mark: int, n: int
) -> str:
    waits = sum(fate is Fate.WAITS for fate in fates.fates)
    later = f"; {waits} rows wait for the next merge (silver holds batch {mark}, the ledger has {n})" if waits else ""
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
    if silver is None or silver.deleted:
        return f"{name} shows no row: {_batch(rows[fates.winner])} deleted the key{later}"
    return f"{name} has {_batch(rows[fates.winner])}{later}"


def _shown(own: Row) -> dict[str, Any]:
    return {
        **json.loads(own["_values"]),
        **{column: own[column] for column in (DELETED, CHANGED_BATCH, CHANGED_AT)},
    }


def _sql(rows: KeyRows, values: Sequence[str | None]) -> tuple[str, ...]:
    """Returns queries for `tidegate sql`: the key's rows in bronze, and its row in silver."""
    birth = rows.work.table.birth
    name = birth.name if birth is not None else rows.work.table.spec.name
    condition = rows.condition(values)
    view = rows.view(f"bronze.{name}")
    bronze = f"SELECT * FROM ({rows.bronze(f'({view})')}) WHERE {condition} ORDER BY {rows.newest}, {N} DESC"
    silver = f"SELECT * FROM silver.{rows.work.table.spec.name}{WITH_TOMBSTONES} WHERE {condition}"
    return tuple(" ".join(query.split()) for query in (bronze, silver))
