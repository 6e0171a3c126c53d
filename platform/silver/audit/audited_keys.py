"""All that both tables have of some keys, what became of each row, and which batches have lost a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.silver.audit.dumps import Dumps, with_gone
from tidegate.platform.core.silver.audit.intervals import HistoryRules, Interval, Replay, replay
from tidegate.platform.core.silver.audit.row_outcomes import RowFates, row_fates
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.threads import parallel
from tidegate.platform.silver.audit.audited_rows import (
    MAX_ROWS,
    MAX_TIMES,
    BronzeRow,
    FoundRow,
    FoundTime,
    bronze_rows,
    dump_orders,
    silver_rows,
    silver_times,
)
from tidegate.platform.silver.audit.key_rows import KeyRows
from tidegate.platform.silver.audit.orders import Orders
from tidegate.platform.silver.pending_merge import PendingMerge
from tidegate.platform.silver.truncate import recorded_truncates

#: Files of a batch whose state is looked up. A row of a larger batch is not judged if its table may lose files.
_MAX_LOOKED_UP = 1_000


@dataclass(frozen=True)
class FoundKey:
    """The rows of one key.

    Attributes:
        rows: of bronze, the newest first, with the deletes that full dumps imply.
        more: bronze has more rows, which are older.
        silver: silver's row, in a table of the newest row of each key. None if it has none.
        times: silver's rows of a history, the newest first.
        fates: what became of the rows of bronze.
    """

    rows: tuple[BronzeRow, ...]
    more: bool
    silver: FoundRow | None
    times: tuple[FoundTime, ...]
    fates: RowFates | Replay

    @property
    def is_right(self) -> bool:
        """Whether silver has what bronze gives."""
        return self.fates.is_right


def found_keys(
    lake: Lake,
    rows: KeyRows,
    condition: str,
    mark: int,
    version: int | None = None,
    *,
    dumps_version: int | None = None,
    is_one: bool = False,
) -> dict[str, FoundKey]:
    """Return all that is found of some keys, by the key as JSON. A key that no table has is not among them.

    Args:
        condition: over the columns of silver, true for the wanted keys.
        mark: last batch that silver holds.
        version: Delta version of bronze. None: the newest.
        dumps_version: Delta version of bronze whose full dumps count. None: that of the rows.
        is_one: the condition is true for one key.
    """
    history, are_dumps = rows.rules.history, rows.rules.are_dumps
    reads: list[Callable[[], Any]] = [partial(bronze_rows, lake.delta, rows, condition, version, is_one=is_one)]
    silver_of = partial(silver_times, is_one=is_one) if history else silver_rows
    reads.append(partial(silver_of, lake.delta, rows, condition))
    if are_dumps:
        reads.append(partial(dump_orders, lake, rows, mark, version if dumps_version is None else dumps_version))
    bronze, silver, *dumps = parallel(lambda read: read(), reads)
    keys = list(dict.fromkeys((*bronze, *silver)))
    newest = partial(_newest_key, rows=rows, mark=mark)
    if history is None and not are_dumps:
        return {key: newest(bronze.get(key, ()), silver.get(key), dumps=Dumps()) for key in keys}
    order_texts = [order for each in dumps for order in each]
    orders = _orders(lake.delta, rows, [row for found in bronze.values() for row in found], silver, order_texts)
    known = Dumps.from_found((orders.rank(order), orders.texts[order]) for order in order_texts)
    ranked = {key: _rank_rows(bronze.get(key, ()), orders) for key in keys}
    if history is None:
        return {key: newest(ranked[key], silver.get(key), dumps=known) for key in keys}
    rules = history_rules(rows, orders, mark, lost_files(rows.work))
    return {key: _history(ranked[key], silver.get(key, ()), orders, rules, known) for key in keys}


def history_rules(rows: KeyRows, orders: Orders, mark: int, has_lost: Callable[[int], bool]) -> HistoryRules:
    """Return the rules of the history of a key.

    Args:
        orders: with those of the recorded truncates.
        mark: last batch that silver holds.
        has_lost: whether a batch may have lost a file.
    """
    birth, history = rows.work.table.birth, rows.rules.history
    if birth is None or history is None:
        raise AssertionError("a table with a history was born")
    truncates = tuple((orders.rank(order), orders.texts[order]) for order in recorded_truncates(rows.work.silver))
    return HistoryRules(
        history.tracked,
        truncates,
        mark,
        is_gone=lambda n: n == 0 or has_lost(n),
        trusts_left=not gives_all(rows),
        of_dumps=rows.rules.are_dumps,
    )


def gives_all(rows: KeyRows) -> bool:
    """Return whether bronze has each row that may have given a value to a row of silver."""
    birth = rows.work.table.birth
    return birth is not None and birth.after_version < 0 and not keeps_lost(rows.work.spec, rows.work.table.birth)


def _orders(
    delta: Delta, rows: KeyRows, bronze: Sequence[BronzeRow], silver: Mapping[str, Any], dumps: Sequence[str]
) -> Orders:
    given = [row.row.order for row in bronze] + list(dumps)
    if rows.rules.history:
        given += recorded_truncates(rows.work.silver)
        for time in (time for found in silver.values() for time in found):
            bounds = (time.interval.order, time.interval.valid_from, time.interval.valid_to)
            given += [order for order in bounds if order is not None]
    return Orders.from_values(delta.session, rows.order_type, given)


def _rank_rows(found: Iterable[BronzeRow], orders: Orders) -> list[BronzeRow]:
    """Return rows with their rank among all orders. Within a key, that of the query does not know silver's."""
    return [
        replace(each, row=replace(each.row, rank=orders.rank(each.row.order), order=orders.texts[each.row.order]))
        for each in found
    ]


def _with_gone(found: Sequence[BronzeRow], dumps: Dumps, mark: int) -> list[BronzeRow]:
    gone = with_gone([each.row for each in found], dumps, mark)[len(found) :]
    every = [*found, *map(BronzeRow, gone)]
    return sorted(every, key=lambda each: (-each.row.rank, each.row.arrival), reverse=True)


def _newest_key(
    found: Sequence[BronzeRow], silver: FoundRow | None, *, rows: KeyRows, mark: int, dumps: Dumps
) -> FoundKey:
    is_cut = len(found) > MAX_ROWS
    kept = _with_gone(found[:MAX_ROWS], dumps, mark)
    own = None if silver is None else silver.row
    fates = row_fates([each.row for each in kept], own, mark, gives_all=lambda: not is_cut and gives_all(rows))
    return FoundKey(tuple(kept), is_cut, silver, (), fates)


def _history(
    found: Sequence[BronzeRow],
    times: Sequence[FoundTime],
    orders: Orders,
    rules: HistoryRules,
    dumps: Dumps,
) -> FoundKey:
    ranked = [replace(time, interval=convert_orders(time.interval, orders)) for time in times]
    kept = list(found[:MAX_ROWS])
    is_cut = len(found) > MAX_ROWS
    if len(ranked) > MAX_TIMES:
        is_cut = True
        kept = [each for each in kept if each.row.rank <= ranked[MAX_TIMES - 1].interval.rank]
    kept = _with_gone(kept, dumps, rules.mark)
    own, stored = [each.row for each in kept], [time.interval for time in ranked]
    # Whether a batch lost a file is asked only where that may explain a difference: each answer is a query.
    fates = replay(own, stored, replace(rules, is_gone=lambda n: n == 0), is_cut=is_cut)
    if not fates.is_right:
        fates = replay(own, stored, rules, is_cut=is_cut)
    return FoundKey(tuple(kept), is_cut, None, tuple(ranked), fates)


def convert_orders(interval: Interval, orders: Orders) -> Interval:
    """Return a row of silver with the rank of its order, and with orders as they are written now."""
    until = interval.valid_to
    return replace(
        interval,
        rank=orders.rank(interval.order),
        order=orders.texts[interval.order],
        valid_from=orders.texts[interval.valid_from],
        valid_to=None if until is None else orders.texts[until],
        until=None if until is None else orders.rank(until),
    )


def keeps_lost(silver_spec: SilverSpec, birth: Birth | None) -> bool:
    """Return whether silver keeps rows whose file has left bronze, because `on_removed` is `ignore`."""
    return birth is not None and birth.registered and silver_spec.on_removed != "full"


def lost_files(work: PendingMerge) -> Callable[[int], bool]:
    """Return a function that returns whether a batch may have lost a file. It asks about each batch once."""
    return cache(partial(_lost_files, work))


def _lost_files(work: PendingMerge, n: int) -> bool:
    if not keeps_lost(work.spec, work.table.birth):
        return False
    table = work.table
    batch = table.batches.read(n)
    if batch and batch.adopt:
        return True  # Its rows are not in the batch, and mostly too many to be looked up.
    keys = [row.key for row in batch.rows if row.status is Status.COMMITTED] if batch else []
    if len(keys) > _MAX_LOOKED_UP:
        return True
    later = table.ledger.history(work.ledger.version, *keys)
    return any(
        decision.stamp.n > n and decision.row.status in (Status.REMOVED, Status.QUARANTINED) for decision in later
    )
