"""The quarantine: messages that cannot be understood, and rows that do not fit their table."""

from __future__ import annotations

import json

from ulid import ULID

from tidegate.resources.lake_root.root import LakeRoot


class Quarantine:
    """``quarantine/messages/`` and ``quarantine/rows/<table key>/``; quarantined objects stay where they are."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def keep_message(self, event_id: str, body: str, reason: str) -> str:
        """Keep a message, or one record of it, that cannot be understood; its ``s3://`` address."""
        key = self._root.key("quarantine", "messages", f"{event_id.replace('#', '-')}.json")
        self._root.objects.put(
            self._root.bucket,
            key,
            json.dumps({"event_id": event_id, "reason": reason, "body": body}, ensure_ascii=False),
        )
        return self._root.address(key)

    def new_folder(self, table: str, n: int) -> str:
        """``s3a://`` URI of a new folder for the rows of batch n that do not fit."""
        return self._root.uri("quarantine", "rows", table, f"{n:020d}-{ULID()}")
