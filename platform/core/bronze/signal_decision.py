"""The state of a completion signal after a batch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SignalDecision:
    """What a batch decided of a signal.

    Attributes:
        key: of the signal.
        waits_for: key of a part. A hint of it looks at the signal again. None if no part can complete the dataset.
    """

    key: str
    waits_for: str | None = None
