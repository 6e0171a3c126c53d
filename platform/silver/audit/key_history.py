"""The history of a key: every row of bronze that has it, what became of each row, and what silver has.

Full dumps that are not whole delete nothing yet. They are named, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import functions as F

from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.config.silver_columns import VALID_FROM, WITH_TOMBSTONES
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import BadSetting, BadValue
from tidegate.platform.core.schema.sql_literal import format_on_one_line
from tidegate.platform.core.silver.audit.dumps import MAX_NAMES
from tidegate.platform.core.silver.audit.explanations import (
    copied_row_sentence,
    describe_row,
    difference,
    format_order,
    history_sentences,
    newest_row_sentence,
)
from tidegate.platform.core.silver.audit.intervals import Replay
from tidegate.platform.core.silver.audit.key_row import Fate, KeyRow
from tidegate.platform.core.silver.audit.row_outcomes import RowFates, SilverRow
from tidegate.platform.core.silver.key_values import key_values
from tidegate.platform.core.times import from_micros
from tidegate.platform.core.wording import first_texts, number_of
from tidegate.platform.lake.lake import Lake
from tidegate.platform.silver.audit.audited_keys import FoundKey, found_keys
from tidegate.platform.silver.audit.audited_rows import BronzeRow, FoundRow, FoundTime
from tidegate.platform.silver.audit.key_rows import KeyRows, N
from tidegate.platform.silver.audit.orders import Orders
from tidegate.platform.silver.pending_merge import merge_state

_NOTHING = FoundKey((), False, None, (), RowFates((), None, is_right=True))
_CAUSES = "somebody changed silver, rows of bronze were replaced or deleted, or `silver` in lake.yaml has changed since"
#: Of a table with forgotten persons: no merge takes their rows from the request on, and silver has them until it is
#: worked off.
_FORGOTTEN = ", or the key is of a person whose request to forget is not worked off yet (`tidegate forget` lists them)"

_MAX_DIFFERENCES = 3


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
        if self.row.is_implied:
            return "no row: the dump does not have the key"
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
        events: the rows of bronze, the newest first. A full dump without the key is an event, too.
        more: whether bronze has more rows, which are older.
        silver: silver's row, if silver has the newest row of each key. None if it has none.
        times: silver's rows, if silver has the history of each key, the newest first.
        verdict: what silver has, and why.
        is_right: whether silver has what bronze gives.
        sql: queries that show the rows in bronze and in silver.
        notes: sentences about newer full dumps that are not complete, and so delete nothing.
    """

    table: str
    key: str
    events: tuple[Event, ...]
    more: bool
    silver: FoundRow | None
    times: tuple[FoundTime, ...]
    verdict: str
    is_right: bool
    sql: tuple[str, ...]
    notes: tuple[str, ...] = ()


def key_history(lake: Lake, spec: TableSpec, given: Sequence[str]) -> KeyHistory:
    """Follow a key from the files of bronze to its row of silver. Nothing is changed.

    Args:
        given: the key, as `part=value` for each of its parts.

    Raises:
        BadValue: the arguments are not a key of the table, or it has no rows yet.
        BadSetting: the table has no `silver`, or does not fit the rules of `lake.yaml`.
    """
    if spec.silver is None:
        raise BadSetting(f"table {spec.name} has no `silver` in lake.yaml, so no row is merged by a key")
    name = f"silver.{spec.name}"
    values = key_values(name, spec.silver.keys, given)
    work = merge_state(lake, spec)
    if work is None or not work.bronze.has_columns:
        raise BadValue(f"bronze.{spec.name} has no rows yet, so {name} has none")
    rows = KeyRows.from_lake(lake, work)
    rows.check(lake, values)
    # The rows of a registered table do not have their batch, so waiting dumps are known by the version only.
    waits = rows.rules.are_dumps and rows.is_registered and (work.mark or 0) < work.n
    version = rows.merged_version if waits else None
    every = found_keys(lake, rows, rows.condition(values), work.mark or 0, dumps_version=version, is_one=True)
    found = next(iter(every.values()), _NOTHING)
    own = [each.row for each in found.rows]
    forgotten = "" if rows.suppression is None else _FORGOTTEN
    if isinstance(found.fates, Replay):
        sentences = history_sentences(own, found.fates)
        verdict = _verdict_of_history(name, found, found.fates, _CAUSES + forgotten)
    else:
        sentences = [
            (fate, newest_row_sentence(fate, row, own, found.fates, name))
            for row, fate in zip(own, found.fates.fates, strict=True)
        ]
        verdict = _verdict(name, spec.name, own, found.fates, found.silver, forgotten)
    key = " and ".join(
        f"{part} = {'NULL' if value is None else value}" for part, value in zip(work.spec.keys, values, strict=True)
    )
    return KeyHistory(
        table=name,
        key=key,
        events=tuple(Event(each, fate, why) for each, (fate, why) in zip(found.rows, sentences, strict=True)),
        more=found.more,
        silver=found.silver,
        times=found.times,
        verdict=verdict + _later_batches([fate for fate, _ in sentences], work.mark, work.n),
        is_right=found.is_right,
        sql=_sql(rows, values),
        notes=unfinished_dumps(lake, rows, own[0].order) if rows.rules.are_dumps and own else (),
    )


def _later_batches(fates: Sequence[Fate], mark: int | None, last: int) -> str:
    waits = sum(fate is Fate.WAITS for fate in fates)
    if not waits:
        return ""
    verb = "waits" if waits == 1 else "wait"
    held = f"silver holds batch {mark or 0}, the ledger has {last}"
    return f"; {number_of(waits, 'row')} {verb} for the next merge ({held})"


def _verdict(name: str, table: str, rows: Sequence[KeyRow], fates: RowFates, silver: FoundRow | None, more: str) -> str:
    causes = _CAUSES + more
    if not rows:
        found = f"bronze.{table} has no row with this key"
        reasons = f"its rows left bronze, or somebody wrote to silver{more}"
        return f"{found}, and {name} has one: {reasons}" if silver else found
    if fates.winner is None:
        return f"{name} has {'a row' if silver else 'no row'}: no row of bronze is a change that was merged"
    winner = rows[fates.winner]
    if silver is not None and silver.row.rows > 1:
        return copied_row_sentence(name, silver.row.rows)
    if not fates.is_right:
        has = (
            "no row"
            if silver is None or silver.row.deleted
            else _describe_other_row(silver.row, fates.wanted or winner)
        )
        if winner.is_implied:
            return (
                f"{name} should have no row, because {describe_row(winner)} does not have the key, and has {has}: "
                f"{causes}"
            )
        return f"{name} should have {describe_row(winner)}, and has {has}: {causes}"
    if winner.is_implied:
        return f"{name} shows no row: {describe_row(winner)} does not have the key"
    if silver is None or silver.row.deleted:
        return f"{name} shows no row: {describe_row(winner)} deleted the key"
    return f"{name} has {describe_row(winner)}"


def _describe_other_row(has: SilverRow, wanted: KeyRow) -> str:
    differences = has.differences(wanted)
    if not differences or wanted.deletes:
        return "another row"
    more = ", …" if len(differences) > _MAX_DIFFERENCES else ""
    return f"another row, in which {', '.join(differences[:_MAX_DIFFERENCES])}{more}"


def _verdict_of_history(name: str, found: FoundKey, fates: Replay, causes: str) -> str:
    if fates.copies:
        order = fates.copies[0].order
        return copied_row_sentence(name, 1 + sum(copy.order == order for copy in fates.copies), order)
    if not fates.is_right:
        return f"{difference(name, *fates.differing[0])}: {causes}"
    shown = [time.interval for time in found.times if not (time.interval.deleted or time.interval.joined)]
    if not shown:
        return f"{name} shows no row: no row of bronze is a change that was merged and no delete"
    newest = shown[0]
    since = format_order(newest.valid_from)
    if newest.valid_to is None:
        last = f"the newest holds since {since}"
    else:
        last = f"the newest held from {since} to {format_order(newest.valid_to)}"
    return f"{name} has {len(shown)} row{'s' if len(shown) > 1 else ''} of the key: {last}"


def _sql(rows: KeyRows, values: Sequence[str | None]) -> tuple[str, ...]:
    """Return queries for `tidegate sql`: the key's rows in bronze, and its row in silver."""
    birth = rows.work.table.birth
    name = birth.name if birth is not None else rows.work.table.spec.name
    condition = rows.condition(values)
    if rows.keys_are_of_bronze:
        newest = [f"{value} DESC NULLS LAST" for value in rows.rules.order_values]
        by = ", ".join(newest if rows.is_registered else [*newest, "_batch DESC"])
        bronze = f"SELECT * FROM bronze.{name} WHERE {condition} ORDER BY {by}"
    else:
        view = rows.view(f"bronze.{name}")
        by = f"{rows.rules.newest_first}, {N} DESC"
        bronze = f"SELECT * FROM ({rows.bronze(f'({view})')}) WHERE {condition} ORDER BY {by}"
    silver = f"SELECT * FROM silver.{rows.work.table.spec.name}{WITH_TOMBSTONES} WHERE {condition}"
    if rows.rules.history is not None:
        silver += f" ORDER BY {VALID_FROM}, {rows.rules.oldest_first}"
    return format_on_one_line(bronze), format_on_one_line(silver)


def unfinished_dumps(lake: Lake, rows: KeyRows, order: str) -> tuple[str, ...]:
    """Return a sentence for each dump that is not whole and newer than an order, and one for files that wait.

    Args:
        rows: queries of a table of full dumps.
        order: of the newest row of a key, as JSON.
    """
    spec = rows.work.table.spec
    found = rows.incomplete_dumps(lake, rows.work.n)
    orders = Orders.from_values(
        lake.delta.session, rows.order_type, [order, *(dump.order for dump in found)] if found else []
    )
    newer = sorted((dump for dump in found if orders.rank(dump.order) < orders.rank(order)), key=lambda dump: -dump.n)
    sentences = [dump.sentence(spec.name, is_discreet=False) for dump in newer[:MAX_NAMES]]
    if spec.completion and (waits := _describe_waiting(rows)):
        sentences.append(waits)
    return tuple(sentences)


def _describe_waiting(rows: KeyRows) -> str | None:
    """Return which files and signals wait, and why. None if nothing waits."""
    table = rows.work.table
    states = table.ledger.last_states(rows.work.ledger.version).where(F.col("status") == str(Status.WAITING))
    every = F.array_sort(F.collect_list(F.struct("key", "reason")))
    (found,) = states.agg(F.count(F.lit(1)).alias("files"), F.slice(every, 1, MAX_NAMES).alias("first")).collect()
    if not found["files"]:
        return None
    named = [f"{row['key']}: {row['reason']}" for row in found["first"]]
    return (
        f"a dump is not complete: {found['files']} files or signals wait, so its rows are not in bronze and it deletes "
        f"nothing in silver.{table.spec.name} ({'; '.join(first_texts(named, MAX_NAMES, found['files']))})"
    )
