"""The intake log: received messages and events that lead to no table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ulid import ULID

from tidegate.resources.lake_root.root import LakeRoot
from tidegate.resources.threads import parallel


class IntakeLog:
    """`intake/<yyyy-mm-dd>/<ULID>.json`."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def put(self, counters: dict[str, int], rows: list[dict[str, Any]]) -> None:
        """Write what a tick received that leads to no table."""
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        self._root.objects.put(
            self._root.bucket,
            self._root.key("intake", day, f"{ULID()}.json"),
            json.dumps({"format": 1, "counters": counters, "rows": rows}, ensure_ascii=False),
        )

    def entries(self, day: str | None = None) -> Iterator[dict[str, Any]]:
        """All entries of the log, or those of one day (yyyy-mm-dd, UTC)."""
        objects, bucket = self._root.objects, self._root.bucket
        prefix = self._root.key("intake", *([day] if day else []), "")
        keys = [item.key for item in objects.under(bucket, prefix)]
        for body in parallel(lambda key: objects.get(bucket, key), keys):
            if body is not None:
                yield json.loads(body)
