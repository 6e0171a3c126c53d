"""The claims of a run: what is claimed, how it was checked, whether it held, and what it means if not."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes:
        id: short name, which stays the same between versions.
        says: the claim, as a sentence.
        how: how it was checked.
        held: whether it held. None: it was not checked.
        found: what was found, in numbers where there are some.
        otherwise: what it means for a lake if the claim does not hold.
    """

    id: str
    says: str
    how: str
    held: bool | None
    found: str
    otherwise: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the claim as the report has it."""
        return asdict(self)
