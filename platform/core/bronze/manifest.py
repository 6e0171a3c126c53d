"""Manifests: the durable hints of the inbox."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from ulid import ULID

from tidegate.platform.core.bronze.hint import Hint, hint_from_dict, hint_to_dict
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.stored_members import reading, require_format, require_known
from tidegate.platform.core.times import parse_time

FORMAT = 1
_STEM = re.compile(
    r"^(?:(?:lost-|rests-|taken-|rebuild-|dealt-|listed-)?[0-9A-HJKMNP-TV-Z]{26}|(?:listed-)?deferred-\d{20}(?:-[0-9a-f]{8})?)-(\d+)(?:-(\d+)-(\d+))?$",
    re.ASCII,
)
#: Largest number of bytes in an id: an exabyte. An event can claim any size, and an S3 key has a limited length.
_TALLY_BYTES_MAX = 10**18

#: Begins the ids of the notes that let a table rest.
RESTS = "rests-"
_LOST, _TAKEN, _REBUILD, _DEALT, _LISTED, _DEFERRED = "lost-", "taken-", "rebuild-", "dealt-", "listed-", "deferred-"
#: First part of a manifest's id, by origin: keys that were being read when the Spark server was lost, files that
#: after-load removed, files that a rebuild reads again, hints that were gathered, and objects that a list of
#: `tidegate ingest` names. Other origins have none.
_ID_PREFIXES = {"lost": _LOST, "after": _TAKEN, "rebuild": _REBUILD, "dealt": _DEALT, "ingest": _LISTED}


@dataclass(frozen=True)
class Tally:
    """Counts of a manifest's hints, read from its id.

    Attributes:
        hints: number of hints.
        size: bytes of their objects, as far as they are known.
        oldest: time of the oldest event, in epoch seconds. None if no hint has one.
    """

    hints: int
    size: int = 0
    oldest: int | None = None


@dataclass(frozen=True)
class Gathering:
    """Where dealt hints were gathered.

    Attributes:
        since: epoch seconds since which they wait, by S3's clock.
        seed: names the objects that had them.
    """

    since: float
    seed: str

    def ulid(self, table: str, hints: Sequence[Hint]) -> ULID:
        """Return an id of this time that is the same for the same hints."""
        members = [hint_to_dict(hint, with_empty=False) for hint in hints]
        content = json.dumps([self.seed, table, members], sort_keys=True)
        digest = hashlib.sha256(content.encode()).digest()
        return ULID.from_bytes(int(self.since * 1000).to_bytes(6, "big") + digest[:10])


@dataclass(frozen=True)
class Manifest:
    """One object of the inbox: the hints of one tick for one table.

    Attributes:
        table: table key.
        id: the object's name without `.json`. It ends in the values of `Tally`, so that a listing shows the backlog.
        origin: the writer: `intake`, `dealt`, `listing`, `deferred`, `redrive`, `rebuild`, `ingest`, `lost`, `rests`
            or `after`.
    """

    table: str
    id: str
    origin: str
    hints: tuple[Hint, ...]

    @classmethod
    def create(cls, table: str, origin: str, hints: Sequence[Hint], gathering: Gathering | None = None) -> Manifest:
        """Make a manifest with a new, time-ordered id.

        The ids of the origins `lost`, `after`, `rebuild`, `ingest` and `dealt` begin with their kind.

        Args:
            table: table key.
            origin: as in `Manifest`.
            hints: its hints.
            gathering: where they were, for the origin `dealt`. The id follows from it and from the hints.
        """
        ulid = ULID() if gathering is None else gathering.ulid(table, hints)
        return cls(table, f"{_ID_PREFIXES.get(origin, '')}{ulid}-{_tally(hints)}", origin, tuple(hints))

    @classmethod
    def from_deferred(
        cls, table: str, n: int, digest: str, hints: Sequence[Hint], *, of_list: bool = False
    ) -> Manifest:
        """Make the manifest of the hints that batch `n` deferred.

        Its id is derived from the batch, so writing it twice changes nothing.

        Args:
            of_list: whether a list of objects named them.
        """
        # The digest, because each generation has a batch `n`.
        first = f"{_LISTED if of_list else ''}{_DEFERRED}{n:020d}-{digest[:8]}"
        return cls(table, f"{first}-{_tally(hints)}", "deferred", tuple(hints))

    @classmethod
    def create_rest(cls, table: str, until: float) -> Manifest:
        """Make the manifest without hints that lets a table rest.

        Its id has the time, so that a listing shows it: the sensor requests no run before.

        Args:
            table: table key.
            until: epoch seconds.
        """
        return cls(table, f"{RESTS}{ULID.from_timestamp(until)}-{_tally(())}", "rests", ())

    def to_json(self) -> str:
        """Return the body of the manifest object."""
        return json.dumps(
            {
                "format": FORMAT,
                "table": self.table,
                "id": self.id,
                "origin": self.origin,
                "hints": [hint_to_dict(hint, with_empty=False) for hint in self.hints],
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> Manifest:
        """Read a manifest's body.

        Args:
            where: the object's address, for error messages.

        Raises:
            BadValue: the body is not a manifest of a known format. The message names `where`.
        """
        with reading(where, "a manifest"):
            body: dict[str, Any] = json.loads(text)
            require_format(body["format"], FORMAT)
            require_known(body, ("format", "table", "id", "origin", "hints"), "a manifest")
            return cls(body["table"], body["id"], body["origin"], tuple(map(hint_from_dict, body["hints"])))


def is_note(manifest_id: str) -> bool:
    """Return whether a manifest, by its id, notes the keys that were being read when the Spark server was lost.

    The note that the table rests after such losses counts too.
    """
    return manifest_id.startswith((_LOST, RESTS))


def rest_of(manifest_id: str) -> float:
    """Return until when a table rests by one of its manifests, in epoch seconds. 0 if the manifest says nothing of it.

    Args:
        manifest_id: an id that `tally_of` accepts.
    """
    return _time_in(manifest_id, RESTS) or 0.0


def gathering_time(manifest_id: str) -> float:
    """Return since when the hints of a manifest were gathered, in epoch seconds. Infinite if they were not gathered.

    Args:
        manifest_id: an id that `tally_of` accepts.
    """
    return _time_in(manifest_id, _DEALT) or inf


def _time_in(manifest_id: str, kind: str) -> float | None:
    """Return the time in an id of a kind."""
    if not manifest_id.startswith(kind):
        return None
    try:
        return ULID.from_str(manifest_id.removeprefix(kind).partition("-")[0]).timestamp
    except ValueError:  # The letters of an ULID, and a larger number than it has.
        return None


def is_taken(manifest_id: str) -> bool:
    """Return whether a manifest, by its id, records files that after-load removed. It has no new files."""
    return manifest_id.startswith(_TAKEN)


def is_rebuild(manifest_id: str) -> bool:
    """Return whether a manifest, by its id, comes from a rebuild. It has no new files."""
    return manifest_id.startswith(_REBUILD)


def is_listed(manifest_id: str) -> bool:
    """Return whether the hints of a manifest, by its id, are of objects that a list named."""
    return manifest_id.startswith(_LISTED)


def was_deferred(manifest_id: str) -> bool:
    """Return whether an earlier batch took the hints of a manifest, by its id, and did not decide them."""
    return manifest_id.removeprefix(_LISTED).startswith(_DEFERRED)


def comes_last(manifest_id: str) -> bool:
    """Return whether the hints of a manifest, by its id, come after all others: of a rebuild, or of a list of objects.

    A person asked for such hints, and there may be millions of them.
    """
    return manifest_id.startswith((_REBUILD, _LISTED))


def tally_of(manifest_id: str) -> Tally:
    """Read the counts of a manifest's hints from its id.

    An id from an older lake has only the number of hints.

    Raises:
        BadValue: the id is not one that a manifest can have.
    """
    match = _STEM.match(manifest_id)
    if not match:
        raise BadValue(
            f"'{manifest_id}' is not the id of a manifest. An id is <ULID>-<hints>-<bytes>-<oldest>, with lost-, "
            "rests-, taken-, rebuild-, listed- or dealt- before it, or with deferred-<n>-<digest> instead of the ULID"
        )
    hints, size, oldest = match.groups()
    return Tally(int(hints), int(size or 0), int(oldest or 0) or None)


def split_into_manifests(
    table: str,
    origin: str,
    hints: Sequence[Hint],
    max_hints: int,
    max_bytes: float = inf,
    gathering: Gathering | None = None,
) -> Iterator[Manifest]:
    """Split hints into manifests of at most `max_hints` hints.

    A batch takes whole manifests, so no manifest may exceed the batch's limit.

    Args:
        table: table key.
        origin: as in `Manifest`.
        max_hints: limit of hints in one manifest.
        max_bytes: limit of the objects' bytes in one manifest, as far as they are known. A single larger object still
            gets a manifest.
        gathering: as for `Manifest.create`.
    """
    chunk: list[Hint] = []
    size = 0
    for hint in hints:
        size += hint.size or 0
        if chunk and (len(chunk) == max_hints or size > max_bytes):
            yield Manifest.create(table, origin, chunk, gathering)
            chunk, size = [], hint.size or 0
        chunk.append(hint)
    if chunk:
        yield Manifest.create(table, origin, chunk, gathering)


def _tally(hints: Sequence[Hint]) -> str:
    times = [max(0, int(parse_time(hint.event_time).timestamp())) for hint in hints if hint.event_time]
    return f"{len(hints)}-{min(sum(hint.size or 0 for hint in hints), _TALLY_BYTES_MAX)}-{min(times, default=0)}"
