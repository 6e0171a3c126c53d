"""Losses of the Spark server in the last day, by the tables that were reading files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from ulid import ULID

from tidegate.platform.core.bronze.loss_quota import PERIOD, Loss, rests_until
from tidegate.resources.lake_root.root import LakeRoot


class Losses:
    """`losses/<ULID>-<table key>.json`. Only a run that loses the server writes and reads them."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def note(self, table: str, files: int, source_of: Callable[[str], str]) -> float | None:
        """Record that the server was lost while it read files of a table. Notes that no longer count are deleted.

        Returns until when the table rests, in epoch seconds; None if its losses are within the quota.

        Args:
            table: table key.
            files: how many of its files were being read.
            source_of: returns who wrote the files of a table (`Loss.source`), given its table key.
        """
        objects, bucket, folder = self._root.objects, self._root.bucket, self._root.key("losses", "")
        body = json.dumps({"format": 1, "table": table, "files": files}, ensure_ascii=False)
        objects.put(bucket, f"{folder}{ULID()}-{table}.json", body)
        losses, old, since = [], [], time.time() - PERIOD
        for item in objects.under(bucket, folder):
            ulid, _, name = item.key[len(folder) :].removesuffix(".json").partition("-")
            loss = Loss(ULID.from_str(ulid).timestamp, source_of(name))
            if loss.at < since:
                old.append(item.key)
            else:
                losses.append(loss)
        objects.delete(bucket, old)
        return rests_until(losses, source_of(table))
