"""The birth record of a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Birth:
    """What was decided for ever when a table was first written.

    Attributes:
        generation: UUID; changes only with a reset. A rebuild keeps it.
        location: ``s3a://`` URI of the bronze table.
        name: SQL name in the schema ``bronze``.
        registered: whether the table follows its files.
        folder: what its batches and its ledger lie in, below ``batches/`` and ``ledger/``; empty for the table key.
        after_version: Delta version with which a reset gave the table to this generation; -1 where none did.
    """

    generation: str
    location: str
    name: str
    registered: bool
    folder: str = ""
    after_version: int = -1
