"""What a bronze run reports while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.lake.spark.results import CommitResult


class RunListener:
    """Takes what a run reports; this one ignores all of it."""

    def log(self, line: str) -> None:
        """Take a line of progress."""

    def listing_reached(self, key: str) -> None:
        """Take the key that the run's listing has reached; empty at its end."""

    def inventory_compared(self, comparison: InventoryComparison) -> None:
        """Take the comparison with the table's inventory, where the table has one."""

    def batch_recorded(self, batch: Batch, landed: CommitResult) -> None:
        """Take a batch and the result of its commit, as soon as the ledger has it. The run may fail after it."""


class LogListener(RunListener):
    """Passes each line of progress to a function, and ignores the rest.

    Args:
        log: takes a line.
    """

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log

    def log(self, line: str) -> None:
        """Pass the line on."""
        self._log(line)


@dataclass(frozen=True)
class InventoryComparison:
    """The result of comparing a table's ledger with an inventory.

    Attributes:
        uri: address of the inventory's manifest.
        created: when S3 began to write the inventory, in epoch seconds.
        keys: number of keys under the table's prefix in the inventory.
        differing: number of hints written for keys that differ.
    """

    uri: str
    created: float
    keys: int
    differing: int
