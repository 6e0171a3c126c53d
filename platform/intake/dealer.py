"""Deals gathered hints: moves them to the inbox of each table, in time for its window."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from math import inf

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.manifest import Manifest, split_into_manifests
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.portions import portions
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.gathered_hints import GatheredObject
from tidegate.platform.lake.threads import parallel_outcomes

#: Seconds that a tick may take for it. The next tick continues.
_SECONDS = 6.0
#: Bytes and objects that are in memory at once. Their hints become one manifest for each table.
_MAX_BYTES, _MAX_OBJECTS = 16 << 20, 500


class Dealer:
    """Deals what is due at each tick.

    The first tick deals everything, and so does a tick that finds other windows in `lake.yaml`: hints do not wait for a
    time that follows from a former window.
    """

    def __init__(self) -> None:
        self._windows: object = None

    def deal(self, lake: Lake, now: float) -> list[str]:
        """Deal what is due. Returns a sentence for each object that cannot be dealt, and if S3 does not answer.

        Objects are deleted after their hints are in the inbox. A dealer that dies before, or another one at the same
        time, makes hints come twice, which are duplicates in the ledger.

        Args:
            now: epoch seconds.
        """
        windows, until, left = _windows(lake.config), time.monotonic() + _SECONDS, list[str]()
        # The tick that is nearest to the time, as for windows.
        due = now + lake.config.intake.every / 2 if windows == self._windows else inf
        found = _due_objects(lake, due, left)
        try:
            for portion in portions(found, lambda item: item.size, max_items=_MAX_OBJECTS, max_size=_MAX_BYTES):
                left += _deal(lake, portion)
                if time.monotonic() > until:
                    return left
        except StoreError as error:
            return [*left, f"gathered hints stay where they are until the next tick: {error}"]
        self._windows = windows
        return left


def _due_objects(lake: Lake, due: float, strays: list[str]) -> Iterator[GatheredObject]:
    for found in lake.store.gathered.listed_objects():
        if isinstance(found, str):
            strays.append(found)
        elif found.deal_at > due:
            return
        else:
            yield found


def _deal(lake: Lake, objects: Sequence[GatheredObject]) -> list[str]:
    """Move the hints of objects to the inbox. Returns a sentence for each object that cannot be read."""
    hints: dict[str, list[Hint]] = {}
    since: dict[str, float] = {}
    dealt, left = [], []
    for found, outcome in zip(objects, parallel_outcomes(lake.store.gathered.read, objects), strict=True):
        if isinstance(outcome, Exception):
            left.append(str(outcome))
            continue
        dealt.append(found)
        for manifest in outcome:
            hints.setdefault(manifest.table, []).extend(manifest.hints)
            since[manifest.table] = min(since.get(manifest.table, inf), found.since)
    lake.store.inbox.put(
        manifest for table, hinted in hints.items() for manifest in _manifests(lake.config, table, hinted, since[table])
    )
    seam("deal")
    lake.store.gathered.delete(dealt)
    return left


def _manifests(config: LakeConfig, table: str, hints: Sequence[Hint], since: float) -> list[Manifest]:
    max_files = config.settings(TableKey.decode(table)).max_files
    return list(split_into_manifests(table, "dealt", hints, max_files, since=since))


def _windows(config: LakeConfig) -> object:
    return config.window, [(spec.prefix, spec.window) for spec in config.tables]
