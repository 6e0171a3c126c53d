"""What earlier inventories had: each part of the history is computed once, and kept after its versions are gone."""

from __future__ import annotations

from tidegate.platform.core.storage.history import StoredHistory
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.threads import parallel


class KeptHistory:
    """The objects `history/<table key>/<generation>-<n, 20 digits>.json` of a table of inventories.

    An object begins with the inventories of batch n, and the next one with the batch after its last. A run that loses
    the race for a number reads the object of the winner, so no inventory counts twice.

    Args:
        root: the lake root.
        table: table key.
        generation: of the table.
    """

    def __init__(self, root: LakeRoot, table: str, generation: str) -> None:
        self._root = root
        self._folder = root.key("history", table, "")
        self._generation = generation

    def read(self) -> StoredHistory:
        """Return all that is kept. Its last batch is one of this generation. Days of earlier ones come first.

        Raises:
            ValueError: an object is no history.
            StoreError: S3 did not answer.
        """
        keys = [item.key for item in self._root.objects.under(self._root.bucket, self._folder)]
        own = [key for key in keys if key.startswith(f"{self._folder}{self._generation}-")]
        others = sorted(set(keys) - set(own))
        found = dict(zip([*others, *own], parallel(self._read, [*others, *own]), strict=True))
        chain: list[StoredHistory] = []
        for key in own:
            # What follows a gap is computed again.
            if (part := found[key]) and key == self._key(chain[-1].last if chain else 0):
                chain.append(part)
        joined = StoredHistory.joined([*(part for key in others if (part := found[key])), *chain])
        return StoredHistory(chain[-1].last if chain else 0, joined.days, joined.known_from)

    def keep(self, after: int, part: StoredHistory) -> bool:
        """Keep the next part. Returns False if another run has kept one meanwhile.

        Args:
            after: number of the last batch that is kept already.
            part: what the batches after it brought.

        Raises:
            StoreError: S3 did not answer.
        """
        return self._root.objects.put_if_absent(self._root.bucket, self._key(after), part.to_json())

    def _key(self, after: int) -> str:
        return f"{self._folder}{self._generation}-{after + 1:020d}.json"

    def _read(self, key: str) -> StoredHistory | None:
        body = self._root.objects.get(self._root.bucket, key)
        return None if body is None else StoredHistory.from_json(body, self._root.address(key))
