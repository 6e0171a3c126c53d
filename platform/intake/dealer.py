"""Deals gathered hints: moves them to the inbox of each table, in time for its window."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from math import inf

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.manifest import Gathering, Manifest, split_into_manifests
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.portions import portions
from tidegate.platform.core.seams import seam
from tidegate.platform.core.wording import first_line
from tidegate.platform.intake.round_manifests import MAX_SECONDS
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.gathered_hints import GatheredObject
from tidegate.platform.lake.threads import parallel_outcomes

#: Seconds that a tick may take for it. The next tick continues.
DEAL_SECONDS = 5.0
#: Bytes and objects that are in memory at once. Their hints become one manifest for each table.
_MAX_BYTES, _MAX_OBJECTS = 16 << 20, 500
#: Tables whose hints are written at once, about: a second's work.
_MAX_TABLES = 2_000
#: Seconds by which the clock of S3 may be ahead, and after which a tick reports what is due and not dealt.
_SKEW, _LATE = 10.0, 60.0


class Dealer:
    """Deals what is due at each tick.

    All that was gathered before the first tick is dealt, and so is what was gathered before a tick that finds other
    windows in `lake.yaml`: hints do not wait for a time that follows from a former window.
    """

    def __init__(self) -> None:
        self._windows: object = None
        #: What was gathered until then is dealt, whenever it is due. None if that is done.
        self._all_until: float | None = None
        #: Objects that are dealt and not deleted yet, and those that cannot be read. No object ever changes.
        self._dealt: dict[str, GatheredObject] = {}
        self._damaged: dict[str, str] = {}

    def deal(self, lake: Lake, now: float) -> list[str]:
        """Deal what is due. Returns a sentence for each object that cannot be dealt, and if S3 does not answer.

        Objects are deleted after their hints are in the inbox. A dealer that dies before, or another one at the same
        time, makes hints come twice, which are duplicates in the ledger.

        Args:
            now: epoch seconds.
        """
        until = time.monotonic() + DEAL_SECONDS
        if (windows := _windows(lake.config)) != self._windows:
            self._windows, self._all_until = windows, now + _SKEW
        left = self._delete(lake)
        try:
            # The tick that is nearest to the time, as for windows.
            found = self._due_objects(lake, now, now + lake.config.intake.every / 2, left)
            for portion in portions(found, lambda item: item.size, max_items=_MAX_OBJECTS, max_size=_MAX_BYTES):
                left += self._deal(lake, portion)
                if time.monotonic() > until:
                    if (late := now - portion[-1].deal_at) > _LATE:
                        left.append(f"hints are dealt {late:.0f} seconds late: more are gathered than a tick can deal")
                    break
            else:
                self._all_until = None
        except (StoreError, BotoCoreError, ClientError) as error:
            left.append(f"gathered hints stay where they are until the next tick: {first_line(error)}")
        return left

    def _due_objects(self, lake: Lake, now: float, due: float, strays: list[str]) -> Iterator[GatheredObject]:
        """Yield what is due, and what a clock that is wrong has named too late."""
        gathered = lake.store.gathered
        for found in gathered.listed_objects():
            if isinstance(found, str):
                strays.append(found)
                continue
            if found.deal_at > due:
                if self._all_until is None:
                    break
                if found.since > self._all_until:
                    continue
            if found.key in self._damaged:
                strays.append(self._damaged[found.key])
            elif found.key not in self._dealt:
                yield found
        for found in gathered.listed_objects(after=now + MAX_SECONDS + _LATE):
            if isinstance(found, GatheredObject) and not (found.key in self._damaged or found.key in self._dealt):
                yield found

    def _deal(self, lake: Lake, objects: Sequence[GatheredObject]) -> list[str]:
        """Move the hints of objects to the inbox. Returns a sentence for each object that cannot be read."""
        hints: dict[str, list[Hint]] = {}
        since: dict[str, float] = {}
        dealt, left = list[GatheredObject](), list[str]()
        for found, outcome in zip(objects, parallel_outcomes(lake.store.gathered.read, objects), strict=True):
            if isinstance(outcome, StoreError):
                raise outcome
            if isinstance(outcome, Exception):
                left.append(self._damaged.setdefault(found.key, str(outcome)))
                continue
            if len(hints) >= _MAX_TABLES:
                break
            dealt.append(found)
            for manifest in outcome:
                hints.setdefault(manifest.table, []).extend(manifest.hints)
                since[manifest.table] = min(since.get(manifest.table, inf), found.since)
        # A repetition of the same portion writes the same manifests again, and no others.
        seed = hashlib.sha256("\n".join(found.key for found in dealt).encode()).hexdigest()
        lake.store.inbox.put(
            manifest
            for table, hinted in hints.items()
            for manifest in _manifests(lake.config, table, hinted, Gathering(since[table], seed))
        )
        seam("deal")
        self._dealt |= {found.key: found for found in dealt}
        return left + self._delete(lake)

    def _delete(self, lake: Lake) -> list[str]:
        """Delete what is dealt. If S3 refuses, the objects are not dealt again, as long as this process lives."""
        if not self._dealt:
            return []
        try:
            lake.store.gathered.delete(self._dealt.values())
        except (BotoCoreError, ClientError) as error:
            return [f"gathered hints that were dealt cannot be deleted: {first_line(error)}"]
        self._dealt.clear()
        return []


def _manifests(config: LakeConfig, table: str, hints: Sequence[Hint], gathering: Gathering) -> list[Manifest]:
    max_files = config.settings(TableKey.decode(table)).max_files
    return list(split_into_manifests(table, "dealt", hints, max_files, gathering=gathering))


def _windows(config: LakeConfig) -> object:
    return config.window, [(spec.prefix, spec.window) for spec in config.tables]
