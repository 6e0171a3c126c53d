"""What became of a row of bronze, as a sentence for people."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.row_json import row_json
from tidegate.platform.core.silver.audit.intervals import End, Interval, Replay, Step
from tidegate.platform.core.silver.audit.key_row import Fate, KeyRow
from tidegate.platform.core.silver.audit.row_outcomes import RowFates

_ALONE = {
    Fate.TRUNCATED: "older than the newest truncate of the table",
    Fate.SKIPPED: "left out by skip_when",
    Fate.TRUNCATES: "deletes every older row of the table",
    Fate.WAITS: "not merged yet",
}


def format_order(order: str) -> str:
    """Return an order, given as JSON of a struct, for people."""
    return ", ".join(str(part) for part in row_json(order).values()) or "null"


def describe_row(row: KeyRow) -> str:
    """Return a row for a sentence, by its batch."""
    if row.is_implied:
        return f"the dump {format_order(row.order)}"
    return "a row of an unknown batch" if row.n is None else f"the row of batch {row.n}"


def difference(name: str, given: Interval | None, have: Interval | None) -> str:
    """Return in what a row of a history differs from that which bronze gives.

    Args:
        name: the silver table.
        given: what bronze gives. None if it gives no row of that order.
        have: what silver has. None if it has no row of that order.
    """
    if given is None:
        return f"{name} has {_span(have)}, which bronze does not give"
    if have is None:
        return f"{name} has no row for the change of order {format_order(given.order)}, and should have {_span(given)}"
    names = [name for name in sorted({*given.values, *have.values}) if given.values.get(name) != have.values.get(name)]
    others = f" with other values of {', '.join(names)}" if names else ""
    return f"{name} should have {_span(given)}, and has {_span(have)}{others}"


def copied_row_sentence(name: str, rows: int, order: str | None = None) -> str:
    """Return that silver has a row several times.

    Args:
        name: the silver table.
        rows: number of rows.
        order: order of their change, in a history. None if silver has the newest row of each key.
    """
    of = "the key" if order is None else f"the change of order {format_order(order)}"
    return (
        f"{name} has {rows} rows of {of}, and should have 1: rows were written to silver again, or a file was copied. "
        f"`tidegate rebuild {name}` makes them 1 again"
    )


def _span(interval: Interval | None) -> str:
    if interval is None:
        raise AssertionError("a row differs from another one, or from none")
    if interval.deleted:
        return f"a delete at {format_order(interval.order)}"
    until = "now" if interval.valid_to is None else format_order(interval.valid_to)
    hidden = ", which the view does not show" if interval.joined else ""
    return f"the row from {format_order(interval.valid_from)} to {until}{hidden}"


def newest_row_sentence(fate: Fate, row: KeyRow, rows: Sequence[KeyRow], fates: RowFates, name: str) -> str:
    """Return the sentence of a row of a table that has the newest row of each key.

    Args:
        fate: what became of the row.
        rows: all rows of the key.
        name: the silver table.
    """
    by = "the newest row" if fates.winner is None else describe_row(rows[fates.winner])
    return (
        _row_alone_sentence(fate, row)
        or {
            Fate.WON: f"{name} has this row" if fates.is_right else f"{name} should have this row",
            Fate.TOMBSTONE: "deletes the key: silver has a tombstone",
            Fate.EXPIRED: "the key was deleted, and its tombstone was removed after `tombstone_days`",
            Fate.OLDER: f"older than {by}",
            Fate.TIE: f"its order is equal to that of {by}, which came later",
            Fate.GONE: f"the dump {format_order(row.order)} does not have the key, which deletes it",
        }[fate]
    )


def history_sentences(rows: Sequence[KeyRow], found: Replay) -> list[tuple[Fate, str]]:
    """Return what became of each row of a table that has the history of each key."""
    step_of = {step.row: place for place, step in enumerate(found.steps) if step.row is not None}
    by_rank = {step.interval.rank: step for step in found.steps}
    sentences: list[tuple[Fate, str]] = []
    for place, (row, own) in enumerate(zip(rows, found.fates, strict=True)):
        if own is not None:
            sentences.append((own, _row_alone_sentence(own, row) or ""))
        elif place in step_of:
            sentences.append(_explain_change(rows, found.steps, step_of[place]))
        else:
            sentences.append((Fate.TIE, _explain_tie(row, by_rank[row.rank], rows)))
    return sentences


def _row_alone_sentence(fate: Fate, row: KeyRow) -> str | None:
    """Return the sentence of a fate that depends on the row alone."""
    if fate is Fate.EXPECTATION:
        return f"violates the expectation {row.violated} of expect_or_drop"
    return _ALONE.get(fate)


def _explain_tie(row: KeyRow, step: Step, rows: Sequence[KeyRow]) -> str:
    if step.row is None:
        return "its order is equal to that of a row that left bronze, and silver keeps that row"
    winner = rows[step.row]
    if (row.values, row.deletes) == (winner.values, winner.deletes):
        return f"the same change as {describe_row(winner)}"
    return f"its order is equal to that of {describe_row(winner)}, which came later"


def _explain_change(rows: Sequence[KeyRow], steps: Sequence[Step], place: int) -> tuple[Fate, str]:
    step = steps[place]
    row = rows[step.row or 0]
    before = steps[place - 1] if step.follows else None
    ended = None if before is None else f"the interval from {format_order(before.interval.valid_from)}"
    if row.is_implied:
        text = f"the dump {format_order(row.order)} does not have the key"
        return Fate.GONE, f"{text}: that ended {ended}" if ended else text
    if row.deletes:
        if ended:
            return Fate.ENDED, f"deleted the key, and ended {ended}"
        return Fate.TOMBSTONE, "deleted the key, which had no row then: an older change that comes late ends here"
    late = _late_sentence(rows, steps, place)
    if not step.starts:
        text = f"its tracked values are those of the change before: part of {ended}"
        return Fate.JOINED, f"{late}; {text}" if late else text
    opened = f"opened the interval from {format_order(step.interval.valid_from)}{_end_sentence(steps, place)}"
    if ended and late:
        return Fate.CUT, f"{late}, cut {ended}, and {opened}"
    return Fate.OPENED, ", ".join(filter(None, [late, f"ended {ended}, and {opened}" if ended else opened]))


def _late_sentence(rows: Sequence[KeyRow], steps: Sequence[Step], place: int) -> str | None:
    """Return that a change came after a newer one. None if it did not."""
    n = steps[place].interval.n
    newer = [step.interval.n for step in steps[place + 1 :] if step.row is None or not rows[step.row].is_implied]
    before = [other for other in newer if other is not None and n is not None and other < n]
    return f"came late, after batch {before[0]}" if before else None


def _end_sentence(steps: Sequence[Step], place: int) -> str:
    """Return when the row that a change began ended, and by what."""
    last = place
    while last + 1 < len(steps) and not steps[last + 1].starts:
        last += 1
    interval, end = steps[last].interval, steps[last].end
    if interval.valid_to is None:
        return ", which holds now"
    after = steps[last + 1] if end is End.CHANGE else None
    by = "a truncate" if end is End.TRUNCATE else "a delete" if after and after.interval.deleted else "the next change"
    return f", which ended at {format_order(interval.valid_to)} by {by}"
