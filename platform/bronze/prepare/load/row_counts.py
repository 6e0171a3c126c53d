"""How many rows of each file can enter the table, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class RowCounts:
    """The rows of one file.

    Attributes:
        good: rows that can enter the table.
        bad: rows that cannot.
        suspect: rows that may show that the whole file was misread.
        unknown: bad rows whose only fault is a field that the table does not have.
        torn: lines that are not a row each; if there are any, `good` and `bad` mean nothing.
        suppressed: rows of subjects that were forgotten. They are left out, and are neither good nor bad.
        blanked: good rows of a change of which one side is a suppressed subject's, and is left out.
        why: the reason of one bad row; None if there is none.
    """

    good: int
    bad: int
    suspect: int = 0
    unknown: int = 0
    torn: int = 0
    suppressed: int = 0
    blanked: int = 0
    why: str | None = None

    def bad_rows_reason(self, *, discreet: bool = False) -> str:
        """Return what is wrong with the bad rows. There must be at least one.

        Args:
            discreet: quote no row, because the ledger and the batch, which have the reason, are kept for ever.
        """
        some = f"{self.bad} of its {self.good + self.bad} rows do not fit the table"
        none = f"none of its {self.bad} rows fits the table"
        example = "; `bad_rows_folder` has them with their reasons" if discreet else f", such as: {self.why}"
        return f"{some if self.good else none}{example}"

    def left_out_reason(self) -> str | None:
        """Return how many rows, or sides of changes, were left out. None if none was."""
        left_out = {
            "were left out": self.suppressed,
            "have only one of `before` and `after`": self.blanked,
        }
        parts = [
            f"{count} of its rows {what}, for their subjects were forgotten"
            for what, count in left_out.items()
            if count
        ]
        return "; ".join(parts) or None


def require_all(table_key: str, written: int, counted: Mapping[str, RowCounts]) -> None:
    """Check that Spark wrote as many rows as it found good.

    Raises:
        AssertionError: it wrote more or fewer.
    """
    good = sum(counts.good for counts in counted.values())
    if written != good:
        raise AssertionError(
            f"Spark read {good} rows of {table_key} and wrote {written}; nothing is committed. Please report this with "
            "the keys of the batch"
        )
