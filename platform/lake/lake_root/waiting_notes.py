"""What waits in tables with completion signals, as their last batches left it: health needs no Spark to show it."""

from __future__ import annotations

from tidegate.platform.core.completion.waiting_datasets import WaitingDatasets
from tidegate.platform.lake.lake_root.root import LakeRoot


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
        """
        body = self._root.objects.get(self._root.bucket, self._key(table))
        return None if body is None else WaitingDatasets.from_json(body)

    def _key(self, table: str) -> str:
        return self._root.key("waiting", f"{table}.json")
