"""The events of folders that become tables when a day has room for them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, islice

from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.stored_members import read_note, reading
from tidegate.platform.lake.lake_root.inbox import Inbox, WaitingManifest
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.threads import parallel

#: Manifests that a folder keeps, about: queues that are drained at once may exceed it by one each.
MAX_MANIFESTS = 20
#: Objects of a folder that are listed: one page of S3's listing, the oldest ones.
_PAGE = 1000
_MORE, _LISTED = "more.json", "listed.json"


@dataclass(frozen=True)
class HeldFolder:
    """What is kept of a folder, as far as one page of a listing shows it.

    Attributes:
        manifests: its manifests, oldest first.
        more: whether events came that are in no manifest: its objects have to be listed.
        listing: whether a listing of its objects has begun and not ended.
    """

    manifests: list[WaitingManifest]
    more: bool
    listing: bool

    @property
    def since(self) -> float:
        """Epoch seconds since which it waits. 0 if nothing but a listing is left of it."""
        return self.manifests[0].since if self.manifests else 0.0


class Held(Inbox):
    """`held/<table key>/`: a few manifests of a folder, and one mark for all further events.

    Events are hints. What a folder has when it becomes a table is all that their objects can still say, so one
    mark is enough for any number of them: no sender of events makes a folder larger.
    """

    def __init__(self, root: LakeRoot) -> None:
        super().__init__(root, "held")

    def keep(self, manifests: Iterable[Manifest]) -> None:
        """Keep manifests durably while their folder has few, and else the mark that its objects have to be listed."""
        by_table = [list(group) for _, group in groupby(manifests, lambda manifest: manifest.table)]

        def keep(group: list[Manifest]) -> None:
            room = MAX_MANIFESTS - len(self._page(group[0].table, MAX_MANIFESTS).manifests)
            self.put(group[: max(0, room)])
            if room < len(group):
                self.mark(group[0].table)

        for _ in parallel(keep, by_table):
            pass

    def mark(self, table: str) -> None:
        """Write down that the objects of a folder have to be listed."""
        self._root.objects.put(self._root.bucket, self._name(table, _MORE), json.dumps({"format": 1}))

    def look(self, table: str) -> HeldFolder:
        """Return what is kept of a folder."""
        return self._page(table, _PAGE)

    def begin_listing(self, table: str) -> None:
        """Begin to list a folder: what comes from now on needs another mark.

        Every object for which the mark was made was there before the mark was deleted, and so before the listing.
        """
        self.listed_up_to(table, "")
        self._root.objects.delete(self._root.bucket, [self._name(table, _MORE)])

    def listed_up_to(self, table: str, key: str) -> None:
        """Write down how far a folder is listed. The hints up to there must be in the inbox."""
        body = json.dumps({"format": 1, "key": key}, ensure_ascii=False)
        self._root.objects.put(self._root.bucket, self._name(table, _LISTED), body)

    def last_listed_key(self, table: str) -> str:
        """Return the last key whose hints are in the inbox. Empty if none is, or if the object is damaged.

        Raises:
            NewerVersionError: a newer version wrote it.
        """
        where = self._name(table, _LISTED)
        body = self._root.objects.get(self._root.bucket, where)
        try:
            with reading(self._root.address(where), "the progress of a listing"):
                key = read_note(body or "{}", ["key"], "the progress of a listing").get("key", "")
        except BadValue:
            return ""  # The folder is listed from its beginning, which gives some hints twice.
        return key if isinstance(key, str) else ""

    def end_listing(self, table: str) -> None:
        """Write down that a folder is listed completely."""
        self._root.objects.delete(self._root.bucket, [self._name(table, _LISTED)])

    def _page(self, table: str, objects: int) -> HeldFolder:
        prefix = self._name(table, "")
        items = list(islice(self._root.objects.list_under(self._root.bucket, prefix), objects))
        names = {item.key[len(prefix) :] for item in items}
        found: list[WaitingManifest] = []
        for item in items:
            self._sort(item, found, [])
        return HeldFolder(found, _MORE in names, _LISTED in names)

    def _name(self, table: str, name: str) -> str:
        return self._root.key(self._folder, table, name)
