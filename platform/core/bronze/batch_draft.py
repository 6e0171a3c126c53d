"""The draft of a batch: the result of the step look and the input of the step prepare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.ledger import Header, LastState
from tidegate.platform.core.bronze.plan import Plan


@dataclass(frozen=True)
class BatchDraft:
    """The plan of batch n, before its files are prepared.

    Attributes:
        manifests: ids of the manifests whose hints the batch takes.
        states: the ledger's last state of each key in the hints.
        previous: the ledger's last header. None before batch 1.
    """

    n: int
    birth: Birth
    previous: Header | None
    manifests: tuple[str, ...]
    plan: Plan
    states: Mapping[str, LastState]

    @property
    def after_version(self) -> int:
        """Delta version of this generation's last commit. -1 while there is no table."""
        return self.previous.bronze_version if self.previous else self.birth.after_version
