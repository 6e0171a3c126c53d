"""The inbox: manifests that wait for their table's next batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidegate.platform.core.manifest import Manifest, hint_count
from tidegate.platform.core.table_key import TableKey
from tidegate.resources.lake_root.root import LakeRoot, is_table_key
from tidegate.resources.object_store import parallel


@dataclass(frozen=True)
class Waiting:
    """A manifest in the inbox, as its listing shows it; ``since`` is epoch seconds by S3's clock."""

    table: str
    id: str
    hints: int
    since: float


@dataclass(frozen=True)
class Contents:
    """What lies in the inbox.

    Attributes:
        waiting: its manifests, oldest first within a table.
        strays: a sentence for each object that is none; it names the object, and what to do.
    """

    waiting: list[Waiting]
    strays: list[str]


class Inbox:
    """``inbox/<table key>/<manifest id>.json``."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def put(self, manifests: Iterable[Manifest]) -> None:
        """Write manifests durably, several at a time."""
        objects, bucket = self._root.objects, self._root.bucket
        for _ in parallel(lambda one: objects.put(bucket, self._key(one.table, one.id), one.to_json()), manifests):
            pass

    def contents(self, table: str | None = None) -> Contents:
        """What lies in the inbox; of one table or of all."""
        start = self._root.key("inbox", "")
        prefix = start if table is None else self._root.key("inbox", table, "")
        found, strays = [], []
        for item in self._root.objects.under(self._root.bucket, prefix):
            folder, _, name = item.key[len(start) :].rpartition("/")
            stem = name.removesuffix(".json")
            try:
                TableKey.decode(folder)
                if stem == name:
                    raise ValueError(f"'{name}' does not end in .json")
                found.append(Waiting(folder, stem, hint_count(stem), item.modified))
            except ValueError as error:
                strays.append(f"{self._root.address(item.key)} is no manifest and is skipped: {error}. Move it away")
        return Contents(sorted(found, key=lambda one: (one.table, one.since, one.id)), strays)

    def waiting(self, table: str | None = None) -> list[Waiting]:
        """The manifests alone, oldest first within a table; of one table or of all."""
        return self.contents(table).waiting

    def read(self, table: str, ids: Iterable[str]) -> list[Manifest]:
        """Read manifests; one deleted meanwhile is left out."""

        def read(one: str) -> Manifest | None:
            key = self._key(table, one)
            body = self._root.objects.get(self._root.bucket, key)
            return Manifest.from_json(body, self._root.address(key)) if body is not None else None

        return [manifest for manifest in parallel(read, ids) if manifest]

    def delete(self, table: str, ids: Iterable[str]) -> None:
        """Delete exactly these manifests."""
        self._root.objects.delete(self._root.bucket, [self._key(table, one) for one in ids])

    def tables(self) -> list[str]:
        """Keys of the tables that have hints waiting."""
        folders = self._root.objects.folders(self._root.bucket, self._root.key("inbox", ""))
        return [name for name in folders if is_table_key(name)]

    def _key(self, table: str, manifest: str) -> str:
        return self._root.key("inbox", table, f"{manifest}.json")
