"""Reads the events of folders that had to wait until a day has room for their tables."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.new_tables import NewTables
from tidegate.platform.core.routing.route import Routed, route
from tidegate.platform.intake.known_tables import tables_now
from tidegate.platform.intake.message_routing import gone_folders
from tidegate.platform.intake.store_and_delete import manifests
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.inbox import WaitingManifest

_DAY_SECONDS = 24 * 3600
#: Seconds that a tick may take for it. The next tick continues.
_SECONDS = 5.0
#: Manifests that are in memory at once. Nothing else bounds the events of a folder.
_PORTION = 20


class HeldEvents:
    """The events of folders that became no tables when they came, because the day had brought as many as it may.

    They are read in the first tick of each day (UTC), and in the first tick after the definitions were loaded, for a
    change of `lake.yaml`. So an ordinary tick costs no request.
    """

    def __init__(self) -> None:
        self._day = -1
        self._left: list[str] | None = None  # folders that this day's look has not come to

    def release(self, lake: Lake, now: float) -> list[str]:
        """Move the events of folders that may be tables now to the inbox. Returns a sentence for each damaged object.

        The folders that have waited longest come first. If the time of a tick ends, the next one continues with the
        folder at which it ended. A tick that dies in between has moved some, and the next tick moves them again: a hint
        that comes twice is a duplicate in the ledger.

        Args:
            lake: the lake.
            now: epoch seconds.

        Raises:
            StoreError: S3 did not answer.
        """
        today, until, damaged = int(now // _DAY_SECONDS), time.monotonic() + _SECONDS, list[str]()
        if today == self._day:
            return damaged
        waiting = {table: list(found) for table, found in groupby(lake.store.held.waiting(), lambda one: one.table)}
        if self._left is None:
            self._left = sorted(waiting, key=lambda one: waiting[one][0].since)
        if self._left:
            known, new = tables_now(lake, now)
            tables = set(known)
            while self._left:
                found = waiting.get(self._left[0], [])
                portion, found[:_PORTION] = found[:_PORTION], []
                try:
                    goes_on = bool(portion) and _release(lake, self._left[0], portion, tables, new)
                except ValueError as error:
                    goes_on = False
                    damaged.append(f"{error}. Move it away")
                if not goes_on:
                    self._left.pop(0)
                if time.monotonic() > until:
                    return damaged
        self._day, self._left = today, None
        return damaged


def _release(
    lake: Lake, table_key: str, waiting: Sequence[WaitingManifest], known: set[TableKey], new: NewTables
) -> bool:
    """Move some events of one folder, if its table may exist now. Returns whether it may.

    `lake.yaml` may have changed: each event goes to the table that its key has now. Without one, it was counted before.
    """
    config, held = lake.config, lake.store.held.of(table_key)
    bucket, ids = TableKey.decode(table_key).bucket, [manifest.id for manifest in waiting]
    hints: dict[TableKey, list[Hint]] = {}
    for manifest in held.read(ids):
        for hint in manifest.hints:
            found = route(bucket, hint.key, config, known)
            if isinstance(found, Routed):
                hints.setdefault(found.table, []).append(hint)
    fresh = {table: hints[table] for table in hints if table not in known and config.table_for(table) is None}
    for gone in gone_folders(lake.store.objects, fresh):
        del hints[gone], fresh[gone]
    if any(not new.today.admits(table) for table in fresh):
        return False
    for table in fresh:
        new.today.take(table)
    known |= hints.keys()
    lake.store.inbox.put(manifests(config, hints))
    held.delete(ids)
    return True
