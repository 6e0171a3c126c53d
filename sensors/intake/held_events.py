"""Reads the events of folders that had to wait until a day has room for their tables."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import groupby

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.new_tables import NewTables
from tidegate.platform.core.routing.route import Routed, route
from tidegate.resources.lake import Lake
from tidegate.resources.lake_root.inbox import WaitingManifest
from tidegate.sensors.intake.known_tables import tables_now
from tidegate.sensors.intake.message_routing import gone_folders
from tidegate.sensors.intake.store_and_delete import manifests

_DAY_SECONDS = 24 * 3600
#: Seconds that a tick may take for it. The next tick continues.
_SECONDS = 5.0


class HeldEvents:
    """The events of folders that became no tables when they came, because the day had brought as many as it may.

    They are read in the first tick of each day (UTC), and in the first tick after the definitions were loaded, for a
    change of `lake.yaml`. So an ordinary tick costs no request.
    """

    def __init__(self) -> None:
        self._day = -1

    def release(self, lake: Lake, now: float) -> list[str]:
        """Move the events of folders that may be tables now to the inbox. Returns a sentence for each damaged object.

        The folders that have waited longest come first. A tick that dies in between has moved some, and the next tick
        moves them again: a hint that comes twice is a duplicate in the ledger.

        Args:
            lake: the lake.
            now: epoch seconds.

        Raises:
            StoreError: S3 did not answer.
        """
        today, until, damaged = int(now // _DAY_SECONDS), time.monotonic() + _SECONDS, list[str]()
        if today == self._day:
            return damaged
        if waiting := lake.store.held.waiting():
            known, new = tables_now(lake, now)
            tables = set(known)
            by_table = {table: list(found) for table, found in groupby(waiting, lambda manifest: manifest.table)}
            for table_key in sorted(by_table, key=lambda one: by_table[one][0].since):
                if time.monotonic() > until:
                    return damaged
                try:
                    _release(lake, table_key, by_table[table_key], tables, new)
                except ValueError as error:
                    damaged.append(f"{error}. Move it away")
        self._day = today
        return damaged


def _release(
    lake: Lake, table_key: str, waiting: Iterable[WaitingManifest], known: set[TableKey], new: NewTables
) -> None:
    """Move the events of one folder, if its table may exist now.

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
        return
    for table in fresh:
        new.today.take(table)
    known |= hints.keys()
    lake.store.inbox.put(manifests(config, hints))
    held.delete(ids)
