"""The inbox: manifests that wait for their table's next batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, islice
from math import inf

from tidegate.platform.core.bronze.manifest import RESTS, Manifest, comes_last, gathering_time, rest_of, tally_of
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake_root.root import LakeRoot, is_table_key
from tidegate.platform.lake.threads import parallel

#: Objects of one table that a tour of the inbox reads: one page of S3's listing, the oldest ones.
_MAX_TABLE_OBJECTS = 1000


@dataclass(frozen=True)
class WaitingManifest:
    """A manifest in the inbox, as its listing shows it.

    Attributes:
        since: epoch seconds of its writing, by S3's clock; if its hints were gathered before, of the oldest of these.
        size: bytes of the objects whose size is known.
        oldest: epoch seconds of the oldest event, or `since` if no event has a time. Infinite for hints of a
            rebuild, whose rows are in the table already, and of `tidegate ingest`: nothing is late.
    """

    table: str
    id: str
    hints: int
    since: float
    size: int = 0
    oldest: float = 0.0


@dataclass(frozen=True)
class Contents:
    """The objects of the inbox.

    Attributes:
        waiting: its manifests, oldest first within a table.
        strays: a sentence for each object that is not a manifest. It names the object and the remedy.
    """

    waiting: list[WaitingManifest]
    strays: list[str]


@dataclass(frozen=True)
class Backlog:
    """The backlog of one table, as far as a tour of the inbox lists it.

    Attributes:
        folder: name of the folder in the inbox: the table key, unless it contains nothing but strays.
        hints: number of waiting hints; a lower bound if there are a thousand manifests or more.
        since: epoch seconds of the oldest manifest, by S3's clock.
        strays: as in `Contents`.
        size: bytes of the waiting objects whose size is known.
        oldest: epoch seconds of the oldest waiting event; infinite if only hints of a rebuild or of a list wait.
        whole: whether the backlog was listed completely.
        unsized: number of waiting hints in manifests that name no size, such as those of a redrive.
        rests: epoch seconds until which the table rests, because the Spark server was lost too often while it read
            files of the table. 0 if it does not rest.
    """

    folder: str
    hints: int
    since: float
    strays: tuple[str, ...] = ()
    size: int = 0
    oldest: float = 0.0
    whole: bool = True
    unsized: int = 0
    rests: float = 0.0

    @classmethod
    def from_manifests(cls, folder: str, found: Iterable[WaitingManifest]) -> Backlog:
        """Return the backlog of manifests, of which those without hints do not count."""
        found = [waiting for waiting in found if waiting.hints]
        return cls(
            folder,
            sum(waiting.hints for waiting in found),
            min((waiting.since for waiting in found), default=0.0),
            size=sum(waiting.size for waiting in found),
            oldest=min((waiting.oldest for waiting in found), default=0.0),
            unsized=sum(waiting.hints for waiting in found if waiting.size == 0),
        )

    def with_gathered(self, gathered: Backlog) -> Backlog:
        """Return it together with what is gathered for the table."""
        both = [backlog for backlog in (self, gathered) if backlog.hints]
        return replace(
            self,
            hints=sum(backlog.hints for backlog in both),
            since=min((backlog.since for backlog in both), default=0.0),
            size=sum(backlog.size for backlog in both),
            oldest=min((backlog.oldest for backlog in both), default=0.0),
            whole=self.whole and gathered.whole,
            unsized=sum(backlog.unsized for backlog in both),
        )


def waiting_manifest(table: str, manifest_id: str, modified: float) -> WaitingManifest:
    """Return what the id of a manifest shows.

    Args:
        table: table key.
        manifest_id: its id.
        modified: epoch seconds at which its object was written, by S3's clock.

    Raises:
        BadValue: the id is not one that a manifest can have.
    """
    tally = tally_of(manifest_id)
    since = min(modified, gathering_time(manifest_id))
    oldest = inf if comes_last(manifest_id) else min(tally.oldest or since, since)
    return WaitingManifest(table, manifest_id, tally.hints, since, tally.size, oldest)


class Inbox:
    """`inbox/<table key>/<manifest id>.json`, or another folder of manifests by table.

    Args:
        folder: name of the folder below it.
    """

    def __init__(self, root: LakeRoot, folder: str = "inbox") -> None:
        self._root, self._folder = root, folder

    def put(self, manifests: Iterable[Manifest]) -> None:
        """Write manifests durably, several at a time."""
        objects, bucket = self._root.objects, self._root.bucket
        for _ in parallel(
            lambda manifest: objects.put(bucket, self.key(manifest.table, manifest.id), manifest.to_json()), manifests
        ):
            pass

    def contents(self, table: str | None = None) -> Contents:
        """Return the objects of the inbox, of one table or of all tables."""
        prefix = self._root.key(self._folder, "" if table is None else f"{table}/")
        found: list[WaitingManifest] = []
        strays: list[str] = []
        for item in self._root.objects.list_under(self._root.bucket, prefix):
            self._sort(item, found, strays)
        return Contents(sorted(found, key=lambda manifest: (manifest.table, manifest.since, manifest.id)), strays)

    def walk_backlogs(self, after: str = "") -> Iterator[Backlog]:
        """Yield the backlogs of all tables, once around: from the folder after `after` to the end, then from the start.

        Pages are requested as the tour proceeds. If a table has more than one page of manifests, the rest is left out.
        So a caller that stops early has paid only for what it has seen.
        """
        yield from self._backlogs_between(after, "")
        if after:
            yield from self._backlogs_between("", after)

    def _backlogs_between(self, after: str, last: str) -> Iterator[Backlog]:
        start = self._root.key(self._folder, "")
        behind = f"{start}{after}0" if after else ""  # "0" follows "/"
        while True:
            listed = self._root.objects.list_under(self._root.bucket, start, after=behind)
            for folder, items in groupby(listed, lambda item: item.key[len(start) :].partition("/")[0]):
                if last and f"{folder}/" > f"{last}/":
                    return
                first = list(islice(items, _MAX_TABLE_OBJECTS))
                more = len(first) == _MAX_TABLE_OBJECTS
                # The note that a table rests comes after all manifests of the intake.
                notes = self._root.objects.list_under(self._root.bucket, f"{start}{folder}/{RESTS}") if more else ()
                yield self._backlog(folder, first, notes)
                if more:
                    behind = f"{start}{folder}0"
                    break
            else:
                return

    def _backlog(self, folder: str, items: list[Listed], notes: Iterable[Listed]) -> Backlog:
        found: list[WaitingManifest] = []
        strays: list[str] = []
        for item in items:
            self._sort(item, found, strays)
        noted: list[WaitingManifest] = []
        for item in notes:
            self._sort(item, noted, [])
        rests = max((rest_of(waiting.id) for waiting in (*found, *noted)), default=0.0)
        backlog = Backlog.from_manifests(folder, found)
        return replace(backlog, strays=tuple(strays), whole=len(items) < _MAX_TABLE_OBJECTS, rests=rests)

    def _sort(self, item: Listed, found: list[WaitingManifest], strays: list[str]) -> None:
        folder, _, name = item.key[len(self._root.key(self._folder, "")) :].rpartition("/")
        stem = name.removesuffix(".json")
        try:
            TableKey.decode(folder)
            if stem == name:
                raise BadValue(f"'{name}' does not end in .json")
            found.append(waiting_manifest(folder, stem, item.modified))
        except ValueError as error:
            strays.append(f"{self._root.address(item.key)} is not a manifest and is skipped: {error}. Move it away")

    def waiting_manifests(self, table: str | None = None) -> list[WaitingManifest]:
        """Return the manifests of one table or of all tables, oldest first within a table."""
        return self.contents(table).waiting

    def table_inbox(self, table: str) -> TableInbox:
        """Return the inbox of one table."""
        return TableInbox(self, self._root, table)

    def tables(self) -> list[str]:
        """Return table keys of the tables that have waiting hints."""
        folders = self._root.objects.folders(self._root.bucket, self._root.key(self._folder, ""))
        return [name for name in folders if is_table_key(name)]

    def key(self, table: str, manifest: str) -> str:
        """Return the key of a manifest's object."""
        return self._root.key(self._folder, table, f"{manifest}.json")


class TableInbox:
    """The inbox of one table: `inbox/<table key>/`."""

    def __init__(self, inbox: Inbox, root: LakeRoot, table: str) -> None:
        self._inbox, self._root, self._table = inbox, root, table

    def waiting_manifests(self) -> list[WaitingManifest]:
        """Return the manifests that wait, oldest first."""
        return self._inbox.waiting_manifests(self._table)

    def put(self, manifests: Iterable[Manifest]) -> None:
        """Write manifests of this table durably, several at a time."""
        self._inbox.put(manifests)

    def read(self, ids: Iterable[str]) -> list[Manifest]:
        """Read manifests; a manifest that was deleted meanwhile is left out."""

        def read(manifest_id: str) -> Manifest | None:
            key = self._key(manifest_id)
            body = self._root.objects.get(self._root.bucket, key)
            return Manifest.from_json(body, self._root.address(key)) if body is not None else None

        return [manifest for manifest in parallel(read, ids) if manifest]

    def delete(self, ids: Iterable[str]) -> None:
        """Delete exactly these manifests."""
        self._root.objects.delete(self._root.bucket, [self._key(manifest_id) for manifest_id in ids])

    def _key(self, manifest_id: str) -> str:
        return self._inbox.key(self._table, manifest_id)
