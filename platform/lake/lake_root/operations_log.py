"""The operations log: which person requested which operation, and when."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ulid import ULID

from tidegate.platform.lake.lake_root.root import LakeRoot


class OperationsLog:
    """`operations/<yyyy-mm-dd>/<ULID>.json`."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def put(self, operation: str, by: str, **facts: Any) -> str:
        """Write an entry before the operation begins. Returns the entry's `s3://` address."""
        now = datetime.now(UTC)
        body = {"format": 1, "operation": operation, "by": by, "at": now.isoformat(timespec="seconds"), **facts}
        key = self._root.key("operations", now.strftime("%Y-%m-%d"), f"{ULID()}.json")
        self._root.objects.put_if_absent(self._root.bucket, key, json.dumps(body, ensure_ascii=False))
        return self._root.address(key)

    def entries(self) -> Iterator[dict[str, Any]]:
        """All entries of the log, oldest first."""
        for item in self._root.objects.under(self._root.bucket, self._root.key("operations", "")):
            if body := self._root.objects.get(self._root.bucket, item.key):
                yield json.loads(body)
