"""Batches: decided once, never deleted."""

from __future__ import annotations

from tidegate.platform.core.batch import Batch
from tidegate.platform.core.planning import Gone
from tidegate.resources.lake_root.root import LakeRoot
from tidegate.resources.object_store import StoreError


class Batches:
    """``batches/<table key>/<n, 20 digits>.json``, and ``.void`` beside those that landed void."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def uri(self, table: str, n: int) -> str:
        """``s3a://`` URI of batch n."""
        return self._root.uri("batches", table, f"{n:020d}.json")

    def read(self, table: str, n: int) -> Batch | None:
        """Batch n, or None if it was not decided yet.

        Raises:
            ValueError: the object is no valid batch.
        """
        key = self._key(table, n)
        body = self._root.objects.get(self._root.bucket, key)
        return Batch.from_json(body, self._root.address(key)) if body is not None else None

    def is_decided(self, table: str, n: int) -> bool:
        """Whether batch n was decided; True also where S3 does not say."""
        return not isinstance(self._root.objects.head(self._root.bucket, self._key(table, n)), Gone)

    def void(self, table: str, after: int) -> set[int]:
        """Numbers of the batches after ``after`` that landed void; all of them that the ledger has recorded.

        ``add_files`` puts the void object before it says that a batch landed so, and only then it is recorded.
        """
        folder = self._root.key("batches", table, "")
        listed = self._root.objects.under(self._root.bucket, folder, after=f"{folder}{after:020d}.void")
        return {int(item.key[len(folder) : -len(".void")]) for item in listed if item.key.endswith(".void")}

    def decide(self, batch: Batch) -> Batch:
        """Put batch n if there is none; the batch that stands, which may be another writer's."""
        self._root.objects.put_if_absent(self._root.bucket, self._key(batch.table, batch.n), batch.to_json())
        winner = self.read(batch.table, batch.n)
        if winner is None:
            raise StoreError(f"batch {batch.n} of {batch.table} vanished: batches must never be deleted")
        return winner

    def _key(self, table: str, n: int) -> str:
        return self._root.key("batches", table, f"{n:020d}.json")
