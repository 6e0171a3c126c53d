"""How far long work is: the listings that were requested, that of each generation, and the exports of silver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.silver.export_manifest import ExportMark
from tidegate.platform.core.stored_members import read_note, reading
from tidegate.platform.lake.lake_root.root import LakeRoot


class ListingTimes:
    """`reconcile.json`: the memory of the reconcile sensor.

    An object, not a cursor: Dagster keeps the cursor of every tick, which is half a megabyte for ten thousand tables.
    """

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def read(self) -> dict[str, int]:
        """Return epoch seconds by table key; empty if nothing was written yet or the object is damaged.

        Raises:
            NewerVersionError: a newer version wrote it.
        """
        key = self._root.key("reconcile.json")
        body = self._root.objects.get(self._root.bucket, key)
        try:
            with reading(self._root.address(key), "the times of listings"):
                asked = read_note(body or "{}", ["asked"], "the times of listings").get("asked", {})
                return {str(table): int(at) for table, at in asked.items()}
        except BadValue:
            return {}  # The times are lost, which costs each table the rest of an interval.

    def write(self, asked: Mapping[str, int]) -> None:
        """Write the times, whatever the object contained."""
        body = json.dumps({"format": 1, "asked": asked}, ensure_ascii=False)
        self._root.objects.put(self._root.bucket, self._root.key("reconcile.json"), body)


@dataclass(frozen=True)
class ListingProgress:
    """The part of a prefix that was listed for a generation.

    Attributes:
        key: hints of all objects up to this key were written. Empty if none were.
        whole: whether hints of all objects were written.
    """

    key: str = ""
    whole: bool = False


class GenerationListings:
    """The objects `listings/<table key>..<generation>.json`.

    An object of each generation, not a tag of a run: the run that resumes a listing is often another one, and a key of
    an earlier generation must not count.
    """

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def read(self, folder: str) -> ListingProgress:
        """Return how far a generation is listed. Nothing is, if the object is missing or damaged.

        Args:
            folder: the folder of the generation's batches.

        Raises:
            StoreError: S3 did not answer.
            NewerVersionError: a newer version wrote it.
        """
        where = self._key(folder)
        body = self._root.objects.get(self._root.bucket, where)
        try:
            with reading(self._root.address(where), "the progress of a listing"):
                found = read_note(body or "{}", ["key", "whole"], "the progress of a listing")
                key, whole = found.get("key", ""), found.get("whole", False)
        except BadValue:
            return ListingProgress()  # The prefix is listed from its beginning, which gives some hints twice.
        return ListingProgress(key, whole) if isinstance(key, str) and isinstance(whole, bool) else ListingProgress()

    def write(self, folder: str, reached: ListingProgress) -> None:
        """Write how far a generation is listed. The hints up to there must be in the inbox."""
        body = json.dumps({"format": 1, "key": reached.key, "whole": reached.whole}, ensure_ascii=False)
        self._root.objects.put(self._root.bucket, self._key(folder), body)

    def _key(self, folder: str) -> str:
        return self._root.key("listings", f"{folder}.json")


class ExportMarks:
    """The objects `exports/<name>/<Delta's id of the silver table>.json`."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def get(self, name: str, table_id: str) -> ExportMark | None:
        """Return the mark of a table. None if it has none.

        Raises:
            ValueError: the object is not a mark.
            StoreError: S3 did not answer.
        """
        key = self._key(name, table_id)
        body = self._root.objects.get(self._root.bucket, key)
        return None if body is None else ExportMark.from_json(body, self._root.address(key))

    def ensure(self, name: str, table_id: str, start: int, folder: str) -> ExportMark:
        """Return the mark of a table. If there is none, begin at a version, unless another run has begun meanwhile.

        Raises:
            ValueError: the object is not a mark.
            StoreError: S3 did not answer.
        """
        if mark := self.get(name, table_id):
            return mark
        begun = ExportMark(start, folder=folder)
        self._root.objects.put_if_absent(self._root.bucket, self._key(name, table_id), begun.to_json())
        return self.get(name, table_id) or begun

    def write(self, name: str, table_id: str, mark: ExportMark) -> None:
        """Write the mark of a table."""
        self._root.objects.put(self._root.bucket, self._key(name, table_id), mark.to_json())

    def _key(self, name: str, table_id: str) -> str:
        return self._root.key("exports", name, f"{table_id}.json")
