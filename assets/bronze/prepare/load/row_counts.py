"""How many rows of each file can enter the table, and what is said of the others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RowCounts:
    """The rows of one file.

    Attributes:
        good: can enter.
        bad: cannot.
        suspect: rows that may show that the whole file was misread.
        unknown: of the bad ones, those that only have fields which the table has not.
        torn: lines that are no rows, each for itself; what is good and bad says nothing then.
        why: the reason of one bad row; None if there is none.
    """

    good: int
    bad: int
    suspect: int = 0
    unknown: int = 0
    torn: int = 0
    why: str | None = None

    def told(self) -> str:
        """What is wrong with the bad rows, of which there are some."""
        some = f"{self.bad} of its {self.good + self.bad} rows do not fit the table"
        none = f"none of its {self.bad} rows fits the table"
        return f"{some if self.good else none}, such as: {self.why}"
