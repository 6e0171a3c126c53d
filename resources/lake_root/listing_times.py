"""When each table's listing was asked for last: what the reconcile sensor remembers."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tidegate.resources.lake_root.root import LakeRoot


class ListingTimes:
    """``reconcile.json``.

    An object and no cursor: Dagster keeps the cursor of every tick, half a megabyte of them for ten thousand tables.
    """

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def read(self) -> dict[str, int]:
        """Epoch seconds by table key; empty where nothing was written yet, or what is there is not ours."""
        body = self._root.objects.get(self._root.bucket, self._root.key("reconcile.json"))
        try:
            asked = json.loads(body or "{}").get("asked", {})
            return {str(table): int(at) for table, at in asked.items()}
        except (ValueError, AttributeError, TypeError):
            return {}  # It is lost: that costs each table the rest of an interval.

    def write(self, asked: Mapping[str, int]) -> None:
        """Write them, whatever was there."""
        body = json.dumps({"format": 1, "asked": asked}, ensure_ascii=False)
        self._root.objects.put(self._root.bucket, self._root.key("reconcile.json"), body)
