"""Ledger rows of completion signals, and of parts that wait for one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from tidegate.platform.core.bronze.ledger import Cause, LastState, LedgerRow, Status
from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, same_bytes
from tidegate.platform.core.bronze.plan import Dataset, Plan, PlannedHint, duplicates, ledger_row
from tidegate.platform.core.completion.verdict import Outcome, Verdict


def hold_back(
    plan: Plan,
    covered: Collection[str],
    states: Mapping[str, LastState],
    reason: Callable[[str], tuple[str, Cause | None]],
) -> None:
    """Let the candidates of a plan wait that no signal covers. Rows that are read again do not wait.

    Args:
        plan: of the hints of parts.
        covered: keys that enter with this batch.
        states: the ledger's last states, by key.
        reason: returns why a key waits, as a sentence and, where checks depend on it, as a value.
    """
    entering = []
    for candidate in plan.candidates:
        if candidate.key in covered or candidate.replaces is not None:
            entering.append(candidate)
            continue
        followers = plan.followers.pop(candidate.key, [])
        plan.rows += duplicates(followers, candidate.found)
        state = states.get(candidate.key)
        waits = state is not None and state.status is Status.WAITING and same_bytes(candidate.found, state)
        if candidate.taken.hint.event_id or not waits:
            why, cause = reason(candidate.key)
            plan.rows.append(replace(ledger_row(candidate.taken, Status.WAITING, why, candidate.found), cause=cause))
    plan.candidates = entering


def signal_rows(
    items: Sequence[PlannedHint], found: S3Found, verdict: Verdict, state: LastState | None, *, completed: bool
) -> list[LedgerRow]:
    """Return the ledger rows of a signal whose dataset does not enter with this batch.

    Args:
        items: hints of the signal, oldest first.
        found: the signal.
        verdict: on it.
        state: its last state in the ledger.
        completed: whether the dataset of these bytes has entered.
    """
    *others, lead = items
    rows = duplicates(others, found)
    if verdict.outcome is Outcome.SETTLED and completed:
        return rows + ([ledger_row(lead, Status.DUPLICATE, None, found)] if lead.hint.event_id else [])
    status, reason = {
        Outcome.SETTLED: (Status.COMPLETE, f"its {verdict.parts} parts were in the table already"),
        Outcome.WAITS: (Status.WAITING, verdict.reason),
    }.get(verdict.outcome, (Status.QUARANTINED, verdict.reason))
    known = state is not None and (state.status, state.reason) == (status, reason) and same_bytes(found, state)
    return rows if known and not lead.hint.event_id else [*rows, ledger_row(lead, status, reason, found)]


def gone_rows(items: Sequence[PlannedHint], probe: Probe, state: LastState | None) -> list[LedgerRow]:
    """Return the ledger rows of a signal that is not there, or that S3 refuses."""
    *others, lead = items
    rows = duplicates(others, None)
    if isinstance(probe, S3Forbidden):
        return [*rows, ledger_row(lead, Status.QUARANTINED, probe.reason, None)]
    if state is None:
        return (
            [*rows, ledger_row(lead, Status.REMOVED, "gone before it was read", None)] if lead.hint.event_id else rows
        )
    if state.status is Status.REMOVED:
        return rows + ([ledger_row(lead, Status.DUPLICATE, "already removed", None)] if lead.hint.event_id else [])
    return [*rows, ledger_row(lead, Status.REMOVED, None, None)]


def complete_rows(dataset: Dataset) -> list[LedgerRow]:
    """Return the ledger rows of a signal whose dataset enters with this batch."""
    reason = f"{len(dataset.keys)} of its {dataset.parts} parts entered with it"
    return [
        *duplicates(dataset.followers, dataset.found),
        ledger_row(dataset.signal, Status.COMPLETE, reason, dataset.found),
    ]
