"""Truncates of a silver table: the rows that are older than a truncate are deleted, and stay deleted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.silver.merge_mode import MergeMode
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.properties import set_properties
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.spark.session import select
from tidegate.platform.silver.newest_rows import older_than_truncate, order_from_json
from tidegate.platform.silver.pending_merge import PendingMerge

#: Properties of a silver table: the order of its newest truncate as JSON, and that of the newest one of bronze before a
#: reset. Bronze does not have that one any more.
TRUNCATED = "tidegate.silver_truncated"
_TRUNCATED_BEFORE = "tidegate.silver_truncated_before"
#: Properties of a history: the orders of all truncates as a JSON array of texts, of bronze as it is now and of bronze
#: before a reset.
_TRUNCATES = ("tidegate.silver_truncates", "tidegate.silver_truncates_before")
#: Property of a silver table of both kinds: the application id of the first merge after the last reset. If that merge
#: dies and is repeated, what it finds as truncates of bronze as it is now are its own, and none of bronze before.
_TRUNCATED_BEFORE_BATCH = "tidegate.silver_truncated_before_of"
#: So many are not an accident of a database, but a condition that holds for ordinary rows.
MAX_TRUNCATES = 1000


@dataclass(frozen=True)
class Truncate:
    """The newest truncate of a silver table.

    Attributes:
        order: its order, as JSON of a struct.
        is_due: whether the table may have rows that it deletes.
    """

    order: str
    is_due: bool


def record_truncate(
    delta: Delta, work: PendingMerge, rules: MergeRules, mode: MergeMode, found: str | None
) -> Truncate | None:
    """Record the order of a truncate in a property of the table, whose rows the merge deletes.

    It is a commit before that of the merge, which no reader sees. A merge that fails afterwards finds the truncate
    again. Later merges leave out rows that are older than the recorded order, however late they come.

    Args:
        mode: how the merge treats the rows that silver has. A truncate whose row left bronze is forgotten if all rows
            of bronze are merged.
        found: the order of the newest truncate in the rows to merge. None if there is none.

    Returns:
        The table's newest truncate; None if it has none.

    Raises:
        BadValue: a truncate has left bronze, and the merge recomputes some keys only.
    """
    if rules.truncated is None:
        return None
    known, before = (work.silver.properties.get(name) for name in (TRUNCATED, _TRUNCATED_BEFORE))
    session = delta.session
    stays = known
    if mode is MergeMode.AFTER_RESET:
        before = stays = before if _is_repeated(work.silver, work.app_id) else known
    elif mode is MergeMode.FULL:
        stays = before = None
    elif mode in (MergeMode.REREAD, MergeMode.SINCE):
        stays = before
    newest = _newer_order(session, rules, stays, found)
    if mode is MergeMode.SINCE and known not in (None, newest):
        raise BadValue(
            f"silver.{work.table.spec.name}: bronze does not have the newest truncate any more, which deleted rows of "
            "every key: rebuild the whole table, without a first batch"
        )
    _record(
        delta,
        work.location,
        work.silver,
        {TRUNCATED: newest, _TRUNCATED_BEFORE: before, **_reset_properties(work.app_id, mode, newest is not None)},
    )
    # Also of a truncate that is known: the merge that recorded it may have died before it deleted a row.
    return None if newest is None else Truncate(newest, is_due=found is not None)


def _is_repeated(state: TableState, app_id: str) -> bool:
    """Return whether the first merge after a reset has recorded truncates before, and died."""
    return state.properties.get(_TRUNCATED_BEFORE_BATCH) == app_id


def _reset_properties(app_id: str, mode: MergeMode, is_recorded: bool) -> dict[str, str | None]:
    """Return what records that the truncates before a reset are known. It is one commit with the truncates."""
    return {_TRUNCATED_BEFORE_BATCH: app_id} if mode is MergeMode.AFTER_RESET and is_recorded else {}


def _newer_order(session: SparkSession, rules: MergeRules, left: str | None, right: str | None) -> str | None:
    """Return the newer of two orders, as JSON of structs."""
    if left is None or right is None or left == right:
        return right if left is None else left
    older = older_than_truncate(rules, order_from_json(rules, right), left)
    return left if select(session, f"SELECT {older}").collect()[0][0] else right


def _record(delta: Delta, location: str, state: TableState, wanted: Mapping[str, str | None]) -> None:
    """Set properties of the silver table, and remove those that are None."""
    changed = {name: text for name, text in wanted.items() if text != state.properties.get(name)}
    set_properties(delta.session, location, changed)


def recorded_truncates(state: TableState) -> tuple[str, ...]:
    """Return the orders of all truncates that a history has recorded, as JSON of structs."""
    found = (json.loads(state.properties.get(name, "[]")) for name in _TRUNCATES)
    return tuple(sorted({order for orders in found for order in orders}))


def record_truncates(delta: Delta, work: PendingMerge, mode: MergeMode, found: Sequence[str]) -> tuple[str, ...]:
    """Record the truncates of a history, which end every row that is valid at their order.

    It is a commit before that of the merge, and repeating it changes nothing.

    Args:
        mode: how the merge treats the rows that silver has. Truncates of rows that leave are forgotten.
        found: the orders of the truncates in the rows to merge, as JSON of structs.

    Returns:
        The orders of all truncates of the table.

    Raises:
        BadValue: there are more than `MAX_TRUNCATES`, or the merge recomputes some keys only.
    """
    known, before = (set(json.loads(work.silver.properties.get(name, "[]"))) for name in _TRUNCATES)
    if mode is MergeMode.SINCE and (found or known):
        raise BadValue(
            f"silver.{work.table.spec.name}: a truncate ends rows of every key, so a history with truncates is rebuilt "
            "as a whole: rebuild it without a first batch"
        )
    if mode is MergeMode.AFTER_RESET:
        before |= set() if _is_repeated(work.silver, work.app_id) else known
    elif mode is MergeMode.FULL:
        before = set()
    now = set(found) | (known if mode is MergeMode.UPSERT else set())
    if len(now | before) > MAX_TRUNCATES:
        raise BadValue(
            f"silver.{work.table.spec.name}: apply_as_truncates of `silver` in lake.yaml holds for more than "
            f"{MAX_TRUNCATES} rows: correct the condition, or leave it out"
        )
    texts = [json.dumps(sorted(orders)) for orders in (now, before)]
    if texts != [work.silver.properties.get(name, "[]") for name in _TRUNCATES]:
        of_reset = _reset_properties(work.app_id, mode, is_recorded=True)
        _record(delta, work.location, work.silver, {**dict(zip(_TRUNCATES, texts, strict=True)), **of_reset})
    return tuple(sorted(now | before))
