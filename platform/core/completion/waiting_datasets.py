"""What waits in a table with completion signals, for its page and for the lake's health."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

from tidegate.platform.core.stored_members import read_note

#: Signals whose reasons are shown, the oldest first.
MAX_SIGNALS = 20


@dataclass(frozen=True)
class WaitingDatasets:
    """Files and signals that wait, as a run found them in the ledger.

    Attributes:
        files: files that wait for a signal.
        late: files among them that came after their dataset had entered.
        signals: reasons of the first signals that wait or are in quarantine, by key.
        since: when the oldest of all these was recorded, in epoch seconds. None if nothing waits.
    """

    files: int = 0
    late: int = 0
    signals: Mapping[str, str] = field(default_factory=dict)
    since: float | None = None

    def to_json(self) -> str:
        """Return the content of the object `waiting/<table key>.json`."""
        return json.dumps({"format": 1, **asdict(self)}, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> WaitingDatasets:
        """Read it.

        Raises:
            NewerVersionError: a newer version wrote it.
            ValueError: it is not such an object. Also KeyError and TypeError.
        """
        body = read_note(text, [field.name for field in fields(cls)], "what waits in a table")
        return cls(body["files"], body["late"], body["signals"], body["since"])
