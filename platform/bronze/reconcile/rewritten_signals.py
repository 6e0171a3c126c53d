"""Finds completion signals that were written again with the same bytes, and whose event was lost.

An empty `_SUCCESS` always has the same etag, so the ledger shows no difference. Files that wait, and are not newer than
the signal, show it.
"""

from __future__ import annotations

from tidegate.platform.core.bronze.ledger import LastState, Status
from tidegate.platform.core.completion.signal_name import SignalKind, SignalName
from tidegate.platform.core.keys.object_key import folder_of
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake import Table


class RewrittenSignals:
    """The signals and the waiting files of one listing.

    Args:
        table: the table. Without signals that cover their folders, nothing is found.
    """

    def __init__(self, table: Table) -> None:
        name = SignalName.parse(table.spec.completion) if table.spec.completion else None
        self._name = name if name and name.kind is SignalKind.FOLDER else None
        self._signals: dict[str, Listed] = {}
        self._oldest: dict[str, float] = {}

    def add(self, item: Listed, state: LastState | None) -> None:
        """Add an object of the listing, with its last state in the ledger."""
        if self._name is None or state is None or state.etag != item.etag:
            return
        folder = folder_of(item.key)
        if self._name.matches(item.key):
            # A signal in quarantine waits for a redrive.
            if state.status is not Status.QUARANTINED:
                self._signals[folder] = item
        elif state.status is Status.WAITING:
            self._oldest[folder] = min(item.modified, self._oldest.get(folder, item.modified))

    def covering(self) -> list[str]:
        """Return the signals that cover a file that waits."""
        found: dict[str, None] = {}
        for folder, modified in self._oldest.items():
            signal = self._nearest(folder)
            # S3's times have whole seconds.
            if signal and int(modified) <= int(signal.modified):
                found[signal.key] = None
        return list(found)

    def _nearest(self, folder: str) -> Listed | None:
        while folder not in self._signals and folder:
            folder = folder_of(folder[:-1])
        return self._signals.get(folder)
