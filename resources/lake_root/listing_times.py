"""The times at which each table's listing was last requested: the memory of the reconcile sensor."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tidegate.resources.lake_root.root import LakeRoot


class ListingTimes:
    """`reconcile.json`.

    An object, not a cursor: Dagster keeps the cursor of every tick, which is half a megabyte for ten thousand tables.
    """

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def read(self) -> dict[str, int]:
        """Epoch seconds by table key; empty if nothing was written yet or the object is damaged."""
        body = self._root.objects.get(self._root.bucket, self._root.key("reconcile.json"))
        try:
            asked = json.loads(body or "{}").get("asked", {})
            return {str(table): int(at) for table, at in asked.items()}
        except (ValueError, AttributeError, TypeError):
            return {}  # The times are lost, which costs each table the rest of an interval.

    def write(self, asked: Mapping[str, int]) -> None:
        """Write the times, whatever the object contained."""
        body = json.dumps({"format": 1, "asked": asked}, ensure_ascii=False)
        self._root.objects.put(self._root.bucket, self._root.key("reconcile.json"), body)
