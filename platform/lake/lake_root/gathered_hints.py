"""Gathered hints: manifests of many tables in one object, until the time at which they go to the inbox."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

from ulid import ULID

from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.portions import portions
from tidegate.platform.core.stored_members import reading
from tidegate.platform.lake.lake_root.inbox import Backlog, WaitingManifest, waiting_manifest
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.threads import parallel, parallel_outcomes

_NAME = re.compile(r"(\d{10})-[0-9A-HJKMNP-TV-Z]{26}\.jsonl", re.ASCII)
#: Manifests and bytes of an object, about. One manifest may have the hints of a hundredth of a batch.
_MAX_MANIFESTS, _MAX_BYTES = 10_000, 4 << 20
#: Objects with more bytes are not read: a manifest that is gathered has some hundred kilobytes, at most.
_MAX_READ = 4 * _MAX_BYTES
#: Objects that are read to say what waits, those that are due first.
_MAX_SHOWN = 1_000


@dataclass(frozen=True)
class GatheredObject:
    """An object with gathered hints, as its listing shows it.

    Attributes:
        key: its key.
        deal_at: epoch seconds at which its hints go to the inbox.
        size: its bytes.
        since: epoch seconds of its writing, by S3's clock.
    """

    key: str
    deal_at: int
    size: int
    since: float


class Gathered:
    """`gathered/<epoch seconds, 10 digits>-<ULID>.jsonl`: a manifest in each line, with a table key of its own.

    The seconds are the time at which the hints go to the inbox. So a listing has what is due first.
    """

    def __init__(self, root: LakeRoot) -> None:
        self._root = root
        self._shown: dict[str, list[WaitingManifest]] = {}

    def put(self, by_time: Mapping[int, Iterable[Manifest]]) -> None:
        """Write manifests durably, several objects at a time.

        Args:
            by_time: manifests, by the epoch seconds at which they go to the inbox.
        """
        lines = (
            (at, [f"{manifest.to_json()}\n".encode() for manifest in manifests]) for at, manifests in by_time.items()
        )
        objects = [
            (at, part)
            for at, found in lines
            for part in portions(found, len, max_items=_MAX_MANIFESTS, max_size=_MAX_BYTES)
        ]

        def put(item: tuple[int, list[bytes]]) -> None:
            key = self._root.key("gathered", f"{item[0]:010d}-{ULID()}.jsonl")
            self._root.objects.put(self._root.bucket, key, b"".join(item[1]))

        for _ in parallel(put, objects):
            pass

    def listed_objects(self, after: float | None = None) -> Iterator[GatheredObject | str]:
        """Yield the objects, those that are due first, and a sentence for each that is none of Tidegate's.

        Args:
            after: epoch seconds. Only objects that are due later.
        """
        prefix = self._root.key("gathered", "")
        start = "" if after is None else f"{prefix}{after:010.0f}~"
        for item in self._root.objects.list_under(self._root.bucket, prefix, after=start):
            match = _NAME.fullmatch(item.key[len(prefix) :])
            if match and item.size <= _MAX_READ:
                yield GatheredObject(item.key, int(match[1]), item.size, item.modified)
            else:
                why = "it is larger than what Tidegate writes" if match else "it has another name"
                yield f"{self._root.address(item.key)} has no gathered hints and is skipped: {why}. Move it away"

    def is_empty(self) -> bool:
        """Return whether nothing is gathered."""
        return not any(isinstance(found, GatheredObject) for found in self.listed_objects())

    def read(self, found: GatheredObject) -> list[Manifest]:
        """Read the manifests of an object. There are none if it was deleted meanwhile.

        Raises:
            BadValue: the object is damaged. The message names it, and the remedy.
            NewerVersionError: a newer version wrote it.
            StoreError: S3 did not answer.
        """
        body = self._root.objects.get(self._root.bucket, found.key)
        where = self._root.address(found.key)
        # Only a line feed ends a line: keys may have other characters at which `splitlines` divides.
        if body is None:
            return []
        lines = body.split(b"\n")[:-1]
        with reading(where, "an object with gathered hints", "move it away"):
            if not body.endswith(b"\n"):
                raise BadValue("its end is missing")
            manifests = [Manifest.from_json(line, "its line") for line in lines]
            for manifest in manifests:
                TableKey.decode(manifest.table)
                waiting_manifest(manifest.table, manifest.id, found.since)
                Manifest.create(manifest.table, "dealt", manifest.hints)  # as it is dealt
        return manifests

    def delete(self, objects: Iterable[GatheredObject]) -> None:
        """Delete exactly these objects."""
        self._root.objects.delete(self._root.bucket, [found.key for found in objects])

    def table_manifests(self, table: str) -> list[tuple[Manifest, float]]:
        """Return the gathered manifests of a table, each with the epoch seconds of its writing."""
        shown = [found for found in islice(self.listed_objects(), _MAX_SHOWN) if isinstance(found, GatheredObject)]
        return [
            (manifest, found.since)
            for found, manifests in zip(shown, self._read_safely(shown), strict=True)
            for manifest in manifests
            if manifest.table == table
        ]

    def waiting_manifests(self) -> list[WaitingManifest]:
        """Return the gathered manifests, by table: those of the objects that are due first, if there are many."""
        return self._shown_manifests()[0]

    def backlogs(self) -> dict[str, Backlog]:
        """Return what is gathered for each table: at least that, if there are many objects."""
        waiting, whole = self._shown_manifests()
        groups = groupby(waiting, lambda manifest: manifest.table)
        return {table: replace(Backlog.from_manifests(table, found), whole=whole) for table, found in groups}

    def _shown_manifests(self) -> tuple[list[WaitingManifest], bool]:
        listed = list(islice(self.listed_objects(), _MAX_SHOWN + 1))
        shown = [found for found in listed[:_MAX_SHOWN] if isinstance(found, GatheredObject)]
        # Objects never change: who asks each second reads each of them once.
        new = [found for found in shown if found.key not in self._shown]
        for found, manifests in zip(new, self._read_safely(new), strict=True):
            self._shown[found.key] = [waiting_manifest(each.table, each.id, found.since) for each in manifests]
        self._shown = {found.key: self._shown[found.key] for found in shown}
        waiting = [manifest for manifests in self._shown.values() for manifest in manifests]
        return sorted(waiting, key=lambda manifest: (manifest.table, manifest.since)), len(listed) <= _MAX_SHOWN

    def _read_safely(self, objects: Sequence[GatheredObject]) -> Iterator[list[Manifest]]:
        """Yield the manifests of each object, and none of a damaged one: `tidegate check` names it."""
        for outcome in parallel_outcomes(self.read, objects):
            if isinstance(outcome, Exception) and not isinstance(outcome, ValueError):
                raise outcome
            yield [] if isinstance(outcome, Exception) else outcome

    def strays(self) -> list[str]:
        """Return a sentence for each object that does not have gathered hints. It names the object and the remedy."""
        listed = list(islice(self.listed_objects(), _MAX_SHOWN))
        objects = [found for found in listed if isinstance(found, GatheredObject)]
        damaged = [str(outcome) for outcome in parallel_outcomes(self.read, objects) if isinstance(outcome, ValueError)]
        return [*(found for found in listed if isinstance(found, str)), *damaged]
