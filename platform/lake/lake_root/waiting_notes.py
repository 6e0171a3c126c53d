"""What waits in tables with completion signals.

An index by the part that a signal waits for, so that a hint of the part finds the signal, and what each table's last
batch left, so that health needs no Spark to show it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from tidegate.platform.core.bronze.batch import SignalDecision
from tidegate.platform.core.completion.waiting_datasets import WaitingDatasets
from tidegate.platform.core.stored_members import read_note, reading
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.threads import parallel

_DIGITS = 16


class WaitingSignals:
    """The index of one table: `signals/<table key>/<digest of the part>-<digest of the signal>-<n, 20 digits>.json`.

    A signal waits for one part at a time, the first that is missing. The dataset cannot be complete before that part
    changes, and then S3 is asked about all parts. An entry that is left over costs one more look at its signal.
    """

    def __init__(self, root: LakeRoot, table: str) -> None:
        self._root, self._table = root, table

    def find_signals(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the signals that wait for one of these parts, each with that part."""
        wanted = {_digest(key): key for key in keys}
        found = self._entries([name for name in self._names() if name[:_DIGITS] in wanted])
        return {key: part for key, part in found.items() if part in wanted.values()}

    def read_all(self) -> list[str]:
        """Return all signals that wait."""
        return list(self._entries(self._names()))

    def _entries(self, names: Sequence[str]) -> dict[str, str]:
        """Return the signals that entries are of, each with its part."""

        def read_signal(name: str) -> tuple[str, str] | None:
            body = self._root.objects.get(self._root.bucket, self._key(name))
            if body is None:
                return None
            with reading(self._root.address(self._key(name)), "a signal that waits"):
                found = read_note(body, ["signal", "waits_for"], "a signal that waits")
                return found["signal"], found["waits_for"]

        return dict(entry for entry in parallel(read_signal, names) if entry)

    def update(self, n: int, decisions: Sequence[SignalDecision]) -> None:
        """Write what batch n decided of signals. Repeating it changes nothing, nor does it change a later batch."""
        if not decisions:
            return
        stale = []
        names = self._names()
        for decision in decisions:
            signal = _digest(decision.key)
            name = ""
            if decision.waits_for is not None:
                name = f"{_digest(decision.waits_for)}-{signal}-{n:020d}.json"
                body = {"format": 1, "signal": decision.key, "waits_for": decision.waits_for}
                self._root.objects.put(self._root.bucket, self._key(name), json.dumps(body, ensure_ascii=False))
            stale += [old for old in names if old != name and _is_older(old, signal, n)]
        self._root.objects.delete(self._root.bucket, [self._key(name) for name in stale])

    def _names(self) -> list[str]:
        start = self._key("")
        return [item.key[len(start) :] for item in self._root.objects.list_under(self._root.bucket, start)]

    def _key(self, name: str) -> str:
        return self._root.key("signals", self._table, name)


def _is_older(name: str, signal: str, n: int) -> bool:
    """Return whether an entry is of the signal, and of this batch or an earlier one."""
    _, of, number = name.removesuffix(".json").split("-")
    return of == signal and int(number) <= n


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:_DIGITS]


class WaitingNotes:
    """The objects `waiting/<table key>.json`. A lost object is written again by the next run of its table."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def write(self, table: str, waiting: WaitingDatasets) -> None:
        """Write what waits in a table."""
        self._root.objects.put(self._root.bucket, self._key(table), waiting.to_json())

    def read(self, table: str) -> WaitingDatasets | None:
        """Return what waited in a table after its last batch. None if that was never written.

        Raises:
            StoreError: S3 did not answer.
            BadValue: the note is damaged.
            NewerVersionError: a newer version wrote it.
        """
        body = self._root.objects.get(self._root.bucket, self._key(table))
        if body is None:
            return None
        with reading(self._root.address(self._key(table)), "the note of what waits"):
            return WaitingDatasets.from_json(body)

    def _key(self, table: str) -> str:
        return self._root.key("waiting", f"{table}.json")
