"""What look hands to prepare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.ledger import Header, LastState
from tidegate.platform.core.bronze.plan import Plan


@dataclass(frozen=True)
class BatchDraft:
    """What a look found to do: the plan of batch n.

    Attributes:
        manifests: ids of the manifests taken, whole.
        states: the ledger's last states of the keys taken.
        previous: the ledger's last header, None before batch 1.
    """

    n: int
    birth: Birth
    previous: Header | None
    manifests: tuple[str, ...]
    plan: Plan
    states: Mapping[str, LastState]

    @property
    def after_version(self) -> int:
        """Version of the Delta table that this generation has last committed; -1 while there is no table."""
        return self.previous.bronze_version if self.previous else self.birth.after_version
