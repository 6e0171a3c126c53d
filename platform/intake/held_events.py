"""Reads the events of folders that had to wait until a day has room for their tables."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Literal

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.manifest import split_into_manifests
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.route import Routed, route, table_holding
from tidegate.platform.intake.known_tables import tables_now
from tidegate.platform.intake.message_routing import gone_folders, probed_keys
from tidegate.platform.intake.round_manifests import intake_manifests
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.inbox import WaitingManifest
from tidegate.platform.lake.threads import parallel

_DAY_SECONDS = 24 * 3600
#: Seconds that a tick may take for it. The next tick continues.
_SECONDS = 5.0
#: Manifests that are in memory at once.
_PORTION = 20
#: Folders whose age is asked for at a time, and objects of a folder that are listed at a time.
_AGES, _LISTED_AT_ONCE = 64, 5_000


class HeldEvents:
    """The events of folders that became no tables when they came, because the day had brought as many as it may.

    They are read in the first tick of each day (UTC), and in the first tick after the definitions were loaded, for a
    change of `lake.yaml`. So an ordinary tick costs no request.
    """

    def __init__(self) -> None:
        self._day = -1
        self._unknown: list[str] | None = None  # folders whose age this day's look has not asked for
        self._left: dict[str, float] = {}  # those that it has not come to, and since when they wait

    def release(self, lake: Lake, now: float) -> list[str]:
        """Move the events of folders that may be tables now to the inbox. Returns a sentence for each damaged object.

        The folders that have waited longest come first. If the time of a tick ends, the next one continues with the
        folder at which it ended. A tick that dies in between has moved some, and the next tick moves them again: a hint
        that comes twice is a duplicate in the ledger.

        Args:
            now: epoch seconds.

        Raises:
            StoreError: S3 did not answer.
        """
        today, damaged = int(now // _DAY_SECONDS), list[str]()
        if today == self._day:
            return damaged
        if self._unknown is None:
            self._unknown = lake.store.held.tables()
        # However long that took: a tick whose time is over before it begins would move the same few each time.
        until = time.monotonic() + _SECONDS
        while self._unknown:
            some = self._unknown[:_AGES]
            self._left.update(parallel(lambda table: (table, lake.store.held.look(table).since), some))
            del self._unknown[:_AGES]
            if self._unknown and time.monotonic() > until:
                return damaged
        if self._left:
            release = _Release(lake, now)
            while self._left:
                table_key = min(self._left, key=lambda text: self._left[text])
                try:
                    left = release.next_step(table_key)
                except ValueError as error:
                    left = None
                    damaged.append(f"{error}. Move it away")
                if left is None:
                    del self._left[table_key]
                elif left == "listing":
                    self._left[table_key] = time.time()  # It may be long, so the events of the others come first.
                if time.monotonic() > until:
                    return damaged
        self._day, self._unknown = today, None
        return damaged


class _Release:
    """The folders that a tick releases, with the tables that exist and the room that is left."""

    def __init__(self, lake: Lake, now: float) -> None:
        self._lake, self._held = lake, lake.store.held
        known, self._new = tables_now(lake, now)
        self._known = set(known)

    def next_step(self, table_key: str) -> Literal["events", "listing"] | None:
        """Move some of what is kept of a folder, if its table may exist now. Returns what may be left of it."""
        found = self._held.look(table_key)
        if found.manifests:
            return "events" if self._move(table_key, found.manifests[:_PORTION]) else None
        if not (found.more or found.listing) or not self._may_be_listed(TableKey.decode(table_key)):
            return None
        if not found.listing:
            self._held.begin_listing(table_key)
        return "listing" if self._list(table_key) else None

    def _move(self, table_key: str, waiting: Sequence[WaitingManifest]) -> bool:
        """Move some events.

        `lake.yaml` may have changed: each event goes to the table that its key has now. Without one, it was counted
        before.
        """
        config, held = self._lake.config, self._held.table_inbox(table_key)
        bucket, ids = TableKey.decode(table_key).bucket, [manifest.id for manifest in waiting]
        hints: dict[TableKey, list[Hint]] = {}
        for manifest in held.read(ids):
            for hint in manifest.hints:
                found = route(bucket, hint.key, config, self._known)
                if isinstance(found, Routed):
                    hints.setdefault(found.table, []).append(hint)
        fresh = {table: hints[table] for table in hints if self._is_new(table)}
        gone = gone_folders(self._lake.store.objects, fresh)
        # S3 may have objects for which it was not asked.
        unsure = any(
            len(probed_keys(fresh[table_key], len(fresh))) < len({hint.key for hint in fresh[table_key]})
            for table_key in gone
        )
        for key in gone:
            del hints[key]
        if not all(map(self._may_be, hints)):
            return False
        self._take(hints)
        self._lake.store.inbox.put(intake_manifests(config, hints))
        if unsure:
            self._held.mark(table_key)
        held.delete(ids)
        return True

    def _list(self, table_key: str) -> bool:
        """Make hints of the next objects of a folder. Returns whether there may be more.

        They go to its table, and to the tables of `lake.yaml` that have taken them over. If events come meanwhile that
        need another listing, the next look makes it.
        """
        lake, table = self._lake, TableKey.decode(table_key)
        listed = lake.store.objects.list_under(table.bucket, table.prefix, self._held.last_listed_key(table_key))
        some = list(islice(listed, _LISTED_AT_ONCE))
        hints = self._hints_of(table, some)
        self._take(hints)
        lake.store.inbox.put(
            manifest
            for owner, found in hints.items()
            for manifest in split_into_manifests(
                owner.encode(), "listing", found, lake.config.settings(owner).max_files
            )
        )
        if len(some) == _LISTED_AT_ONCE:
            self._held.listed_up_to(table_key, some[-1].key)
            return True
        self._held.end_listing(table_key)
        return False

    def _hints_of(self, table: TableKey, listed: Iterable[Listed]) -> dict[TableKey, list[Hint]]:
        config, hints = self._lake.config, dict[TableKey, list[Hint]]()
        for item in listed:
            found = route(table.bucket, item.key, config, self._known)
            if isinstance(found, Routed) and (found.table == table or config.table_for(found.table)):
                hints.setdefault(found.table, []).append(Hint(item.key, size=item.size))
        return hints

    def _is_new(self, table: TableKey) -> bool:
        return table not in self._known and self._lake.config.table_for(table) is None

    def _may_be(self, table: TableKey) -> bool:
        return not self._is_new(table) or self._new.today.admits(table)

    def _may_be_listed(self, table: TableKey) -> bool:
        config = self._lake.config
        by_itself = config.discovery and table_holding(table.bucket, table.prefix, config) is None
        return not by_itself or self._may_be(table)

    def _take(self, tables: Iterable[TableKey]) -> None:
        for table in tables:
            if self._is_new(table):
                self._new.today.take(table)
            self._known.add(table)
