"""After-load notes: loaded files that after-load has yet to remove or tag."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ulid import ULID

from tidegate.platform.core.stored_members import read_note, reading
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.threads import parallel

_NAME = re.compile(r"^[0-9A-HJKMNP-TV-Z]{26}-(\d+)\.json$", re.ASCII)
#: Keys of one note: as many as one run processes.
_MAX_KEYS = 1000
#: At most this many notes of a table are counted.
_MAX_COUNTED = 1000


@dataclass(frozen=True)
class AfterNote:
    """Files that wait for after-load.

    Attributes:
        id: the object's name without `.json`; ends in the number of keys.
        keys: object keys, each with the reason why the last attempt failed; empty before the first attempt.
    """

    id: str
    keys: Mapping[str, str]

    @classmethod
    def create(cls, keys: Mapping[str, str]) -> AfterNote:
        """Return a note with a fresh, time-ordered id."""
        return cls(f"{ULID()}-{len(keys)}", keys)


class AfterNotes:
    """The notes of one table: `after/<table key>/<note id>.json`."""

    def __init__(self, root: LakeRoot, table: str) -> None:
        self._root, self._table = root, table

    def put(self, keys: Mapping[str, str], max_keys: int) -> None:
        """Write notes of these keys. Each note has at most `max_keys` keys, and never more than a thousand."""
        rest = iter(keys.items())
        while part := dict(islice(rest, min(max_keys, _MAX_KEYS))):
            note = AfterNote.create(part)
            body = json.dumps({"format": 1, "keys": part}, ensure_ascii=False, separators=(",", ":"))
            self._root.objects.put(self._root.bucket, self._key(note.id), body)

    def ids(self) -> list[str]:
        """Return the ids of the table's notes, oldest first."""
        start = self._root.key("after", self._table, "")
        listed = islice(self._root.objects.list_under(self._root.bucket, start), _MAX_COUNTED)
        return [item.key[len(start) : -len(".json")] for item in listed if _NAME.match(item.key[len(start) :])]

    def read(self, ids: Iterable[str]) -> list[AfterNote]:
        """Read notes. A note that was deleted in the meantime is left out."""

        def read(note: str) -> AfterNote | None:
            body = self._root.objects.get(self._root.bucket, self._key(note))
            if body is None:
                return None
            with reading(self._root.address(self._key(note)), "a note of after-load"):
                return AfterNote(note, read_note(body, ["keys"], "a note of after-load")["keys"])

        return [note for note in parallel(read, ids) if note]

    def delete(self, ids: Iterable[str]) -> None:
        """Delete exactly these notes."""
        self._root.objects.delete(self._root.bucket, [self._key(note) for note in ids])

    def _key(self, note: str) -> str:
        return self._root.key("after", self._table, f"{note}.json")


def oldest_notes(ids: Sequence[str], max_files: int, before: float | None = None) -> list[str]:
    """Return the oldest notes that together have at most `max_files` files, but at least one note.

    Args:
        ids: oldest first.
        max_files: limit of the files.
        before: epoch seconds; later notes are left out.
    """
    found: list[str] = []
    for note in ids:
        late = before is not None and ULID.from_str(note[:26]).timestamp > before
        if late or (found and files_of([*found, note]) > max_files):
            break
        found.append(note)
    return found


def files_of(ids: Sequence[str]) -> int:
    """Return the number of files that wait in notes, read from the ids of the notes."""
    return sum(int(note.rpartition("-")[2]) for note in ids)
