"""What a bronze run may and should do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunOptions:
    """Options of one bronze run.

    Attributes:
        run_id: Dagster's id of the run, for the ledger.
        listing: first turn the prefix's listing, or the table's inventory, into hints: for runs that no event asked
            for.
        after: the key that the listing of an earlier run reached; this run's listing resumes after it.
        allow_removals: let a batch remove most files of a registered table.
    """

    run_id: str
    listing: bool = False
    after: str = ""
    allow_removals: bool = False
