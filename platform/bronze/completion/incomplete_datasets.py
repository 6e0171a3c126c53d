"""The step prepare for tables with completion signals: a dataset of which a part fails is withdrawn from the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.batch import SignalDecision
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.core.bronze.plan import (
    Candidate,
    Dataset,
    Plan,
    duplicates,
    followers_rows,
    ledger_row,
)
from tidegate.platform.core.completion.verdict import refusal
from tidegate.platform.core.completion.waiting_parts import complete_rows


@dataclass(frozen=True)
class Failure:
    """A dataset that cannot enter with this batch.

    Attributes:
        rows: the ledger rows of its parts, or of its signal, that are at fault. Empty if parts are only deferred.
    """

    dataset: Dataset
    rows: tuple[LedgerRow, ...]


def failures(plan: Plan, prepared: PreparedBatch) -> list[Failure]:
    """Return the datasets of which the preparation did not add every part."""
    last = {row.key: row for row in prepared.rows if row.status is not Status.DUPLICATE}
    found = []
    for dataset in plan.datasets:
        rows = [last.get(key) for key in sorted(dataset.keys)]
        if not all(row and row.status is Status.COMMITTED for row in rows):
            bad = tuple(row for row in rows if row and row.status is Status.QUARANTINED)
            found.append(Failure(dataset, bad))
    return found


def withdraw_unrecorded(plan: Plan, rows: Sequence[LedgerRow]) -> None:
    """Remove the datasets from a plan of which the ledger cannot have a part or the signal.

    Args:
        plan: of the batch.
        rows: what the ledger can have of these objects.
    """
    bad = {row.key: row for row in rows if row.status is Status.QUARANTINED}
    for dataset in list(plan.datasets):
        keys = [*sorted(dataset.keys), dataset.signal.hint.key]
        if of_dataset := tuple(bad[key] for key in keys if key in bad):
            withdraw(plan, Failure(dataset, of_dataset))


def withdraw(plan: Plan, failure: Failure) -> None:
    """Remove a dataset from a plan: it waits, with the reason, or returns to the inbox if nothing is at fault."""
    dataset = failure.dataset
    plan.datasets.remove(dataset)
    if not failure.rows:
        plan.deferred += [item.hint for item in [*dataset.followers, dataset.signal]]
        plan.defer(dataset.keys)
        return
    parts = [candidate for candidate in plan.candidates if candidate.key in dataset.keys]
    plan.candidates = [candidate for candidate in plan.candidates if candidate.key not in dataset.keys]
    first = failure.rows[0]
    of_part = first.key in dataset.keys
    why = refusal(first.key, first.reason) if of_part else first.reason or "no reason was given"
    bad = {row.key: row for row in failure.rows}
    for candidate in parts:
        plan.rows += followers_rows(plan, candidate.key, candidate.found)
        plan.rows.append(bad.get(candidate.key) or _waiting_row(candidate, dataset, why))
    plan.rows += [
        *duplicates(dataset.followers, dataset.found),
        ledger_row(dataset.signal, Status.QUARANTINED, why, dataset.found),
    ]
    plan.signals.append(SignalDecision(dataset.signal.hint.key, first.key if of_part else None))


def _waiting_row(candidate: Candidate, dataset: Dataset, why: str) -> LedgerRow:
    return candidate.row(Status.WAITING, f"its signal {dataset.signal.hint.key} is in quarantine: {why}")


def record_entering_signals(plan: Plan, prepared: PreparedBatch) -> None:
    """Record the signals of the datasets that enter."""
    for dataset in plan.datasets:
        prepared.rows += complete_rows(dataset)
        plan.signals.append(SignalDecision(dataset.signal.hint.key))
