"""Losses of the Spark server in the last day, by the tables whose rows were being read."""

from __future__ import annotations

import json
import time

from ulid import ULID

from tidegate.platform.core.bronze.loss_quota import PERIOD, Loss, rests_until
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.discovery import first_folder
from tidegate.platform.lake.lake_root.root import LakeRoot


class Losses:
    """`losses/<ULID>-<reader>.json`. A run that loses the server writes one."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root
        self._folder = root.key("losses", "")

    def note(self, reader: str, config: LakeConfig, **details: int) -> float | None:
        """Record that the server was lost while it read rows of a table. Notes that no longer count are deleted.

        Returns until when the table rests, in epoch seconds; None if its losses are within the quota.

        Args:
            reader: key of a bronze table, or `silver_reader` of a silver table.
            details: for a person who reads the note.
        """
        body = json.dumps({"format": 1, "table": reader, **details}, ensure_ascii=False)
        self._root.objects.put(self._root.bucket, f"{self._folder}{ULID()}-{reader}.json", body)
        old = [key for key, loss in self._read_losses(config).items() if not _counts(loss)]
        self._root.objects.delete(self._root.bucket, old)
        return self.rests_until(reader, config)

    def rests_until(self, reader: str, config: LakeConfig) -> float | None:
        """Return until when a table rests, in epoch seconds. None if its losses are within the quota."""
        losses = [loss for loss in self._read_losses(config).values() if _counts(loss)]
        return rests_until(losses, _source_of(config, reader))

    def _read_losses(self, config: LakeConfig) -> dict[str, Loss]:
        noted = {}
        for item in self._root.objects.list_under(self._root.bucket, self._folder):
            ulid, _, reader = item.key.removeprefix(self._folder).removesuffix(".json").partition("-")
            noted[item.key] = Loss(ULID.from_str(ulid).timestamp, _source_of(config, reader))
        return noted


def _counts(loss: Loss) -> bool:
    return loss.at >= time.time() - PERIOD


def _source_of(config: LakeConfig, reader: str) -> str:
    """Return `Loss.source`, given what a note names."""
    if ":" in reader:  # As `silver_reader` has it; no table key has a colon.
        return reader
    table = TableKey.decode(reader)
    return reader if config.table_for(table) else first_folder(table).encode()
