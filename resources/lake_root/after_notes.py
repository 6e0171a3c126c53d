"""After-load notes: files whose rows are in their table, and that have yet to be taken away or tagged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ulid import ULID

from tidegate.resources.lake_root.root import LakeRoot
from tidegate.resources.threads import parallel

_NAME = re.compile(r"^[0-9A-HJKMNP-TV-Z]{26}-(\d+)\.json$", re.ASCII)
#: Keys of one note: no more than a run does.
_MOST_KEYS = 1000
#: Notes of a table that are counted.
_MOST_COUNTED = 1000


@dataclass(frozen=True)
class AfterNote:
    """Files that wait for after-load.

    Attributes:
        id: the object's name without ``.json``; ends in how many keys there are.
        keys: object keys, each with the reason for which it could not be done; empty where nobody has tried yet.
    """

    id: str
    keys: Mapping[str, str]

    @classmethod
    def new(cls, keys: Mapping[str, str]) -> AfterNote:
        """A note with a fresh, time-ordered id."""
        return cls(f"{ULID()}-{len(keys)}", keys)


class AfterNotes:
    """The notes of one table: ``after/<table key>/<note id>.json``."""

    def __init__(self, root: LakeRoot, table: str) -> None:
        self._root, self._table = root, table

    def put(self, keys: Mapping[str, str], most: int) -> None:
        """Write notes of these keys, each of ``most`` or a thousand at most."""
        rest = iter(keys.items())
        while part := dict(islice(rest, min(most, _MOST_KEYS))):
            note = AfterNote.new(part)
            body = json.dumps({"format": 1, "keys": part}, ensure_ascii=False, separators=(",", ":"))
            self._root.objects.put(self._root.bucket, self._key(note.id), body)

    def ids(self) -> list[str]:
        """Ids of the table's notes, oldest first."""
        start = self._root.key("after", self._table, "")
        listed = islice(self._root.objects.under(self._root.bucket, start), _MOST_COUNTED)
        return [item.key[len(start) : -len(".json")] for item in listed if _NAME.match(item.key[len(start) :])]

    def read(self, ids: Iterable[str]) -> list[AfterNote]:
        """Read notes; one deleted meanwhile is left out."""

        def read(one: str) -> AfterNote | None:
            body = self._root.objects.get(self._root.bucket, self._key(one))
            return AfterNote(one, json.loads(body)["keys"]) if body is not None else None

        return [note for note in parallel(read, ids) if note]

    def delete(self, ids: Iterable[str]) -> None:
        """Delete exactly these notes."""
        self._root.objects.delete(self._root.bucket, [self._key(one) for one in ids])

    def _key(self, note: str) -> str:
        return self._root.key("after", self._table, f"{note}.json")


def oldest(ids: Sequence[str], most: int, before: float | None = None) -> list[str]:
    """The first of some notes, oldest first, up to ``most`` files and one note at least.

    Args:
        ids: oldest first.
        most: files.
        before: epoch seconds; later notes are left out.
    """
    found: list[str] = []
    for one in ids:
        late = before is not None and ULID.from_str(one[:26]).timestamp > before
        if late or (found and files_of([*found, one]) > most):
            break
        found.append(one)
    return found


def files_of(ids: Sequence[str]) -> int:
    """How many files wait in notes, by their ids."""
    return sum(int(one.rpartition("-")[2]) for one in ids)
