"""The inbox: manifests that wait for their table's next batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidegate.platform.core.manifest import Manifest, hint_count
from tidegate.resources.lake_root.root import LakeRoot
from tidegate.resources.object_store import parallel


@dataclass(frozen=True)
class Waiting:
    """A manifest in the inbox, as its listing shows it; ``since`` is epoch seconds by S3's clock."""

    table: str
    id: str
    hints: int
    since: float


class Inbox:
    """``inbox/<table key>/<manifest id>.json``."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def put(self, manifests: Iterable[Manifest]) -> None:
        """Write manifests durably, several at a time."""
        objects, bucket = self._root.objects, self._root.bucket
        for _ in parallel(lambda one: objects.put(bucket, self._key(one.table, one.id), one.to_json()), manifests):
            pass

    def waiting(self, table: str | None = None) -> list[Waiting]:
        """The inbox's manifests, oldest first within a table; of one table or of all.

        Raises:
            ValueError: an object in the inbox is no manifest; the message names it.
        """
        start = self._root.key("inbox", "")
        prefix = start if table is None else self._root.key("inbox", table, "")
        found = []
        for item in self._root.objects.under(self._root.bucket, prefix):
            name, _, stem = item.key[len(start) : -len(".json")].rpartition("/")
            try:
                found.append(Waiting(name, stem, hint_count(stem), item.modified))
            except ValueError as error:
                raise ValueError(
                    f"{self._root.address(item.key)}: {error}; move the object out of the inbox"
                ) from error
        return sorted(found, key=lambda one: (one.table, one.since, one.id))

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
        return self._root.objects.folders(self._root.bucket, self._root.key("inbox", ""))

    def _key(self, table: str, manifest: str) -> str:
        return self._root.key("inbox", table, f"{manifest}.json")
