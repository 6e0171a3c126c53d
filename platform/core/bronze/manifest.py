"""Manifests: the durable hints of the inbox."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from ulid import ULID

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.times import parse_time

FORMAT = 1
_STEM = re.compile(
    r"^(?:(?:lost-|taken-|rebuild-)?[0-9A-HJKMNP-TV-Z]{26}|deferred-\d{20}(?:-[0-9a-f]{8})?)-(\d+)(?:-(\d+)-(\d+))?$",
    re.ASCII,
)
#: What an id says at most, of bytes: an exabyte. An event may say anything, and a key of S3 has a length.
_MOST_BYTES = 10**18

_LOST, _TAKEN, _REBUILD = "lost-", "taken-", "rebuild-"
#: How ids begin, by origin: of the note of what was being read when the Spark server was lost, of what after-load took
#: away, and of what is read again although nothing happened to it.
_BEGINNINGS = {"lost": _LOST, "after": _TAKEN, "rebuild": _REBUILD}


@dataclass(frozen=True)
class Tally:
    """What a manifest's id says of its hints.

    Attributes:
        hints: how many.
        size: bytes of their objects, as far as they were told.
        oldest: epoch seconds of the oldest event; None where no event told it.
    """

    hints: int
    size: int = 0
    oldest: int | None = None


@dataclass(frozen=True)
class Manifest:
    """One object of the inbox: the hints of one tick for one table.

    Attributes:
        table: table key.
        id: the object's name without ``.json``; ends in what ``Tally`` has, so that a listing tells the backlog.
        origin: who wrote it: ``intake``, ``listing``, ``deferred``, ``redrive``, ``rebuild``, ``lost`` or
            ``after``.
    """

    table: str
    id: str
    origin: str
    hints: tuple[Hint, ...]

    @classmethod
    def new(cls, table: str, origin: str, hints: Sequence[Hint]) -> Manifest:
        """A manifest with a fresh, time-ordered id; that of ``lost``, ``after`` and ``rebuild`` says what it is."""
        return cls(table, f"{_BEGINNINGS.get(origin, '')}{ULID()}-{_tally(hints)}", origin, tuple(hints))

    @classmethod
    def deferred(cls, table: str, n: int, digest: str, hints: Sequence[Hint]) -> Manifest:
        """The manifest of what batch ``n`` put off; its id follows from the batch, so a repetition changes nothing."""
        return cls(table, f"{cls.deferred_prefix(n, digest)}{_tally(hints)}", "deferred", tuple(hints))

    @staticmethod
    def deferred_prefix(n: int, digest: str) -> str:
        """How the id of the manifest of what batch ``n`` put off begins; each generation has a batch ``n``."""
        return f"deferred-{n:020d}-{digest[:8]}-"

    def to_json(self) -> str:
        """The object's body."""
        return json.dumps(
            {
                "format": FORMAT,
                "table": self.table,
                "id": self.id,
                "origin": self.origin,
                "hints": [_lean(vars(hint)) for hint in self.hints],
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> Manifest:
        """Read a manifest's body.

        Args:
            text: the body.
            where: the object's address, for errors.

        Raises:
            ValueError: the body is no manifest of a known format; the message names ``where``.
        """
        try:
            body: dict[str, Any] = json.loads(text)
            if body["format"] != FORMAT:
                raise ValueError(f"format {body['format']} is not {FORMAT}; this lake was written by a newer Tidegate")
            return cls(body["table"], body["id"], body["origin"], tuple(Hint(**hint) for hint in body["hints"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{where} is not a manifest: {error}") from error


def is_note(manifest_id: str) -> bool:
    """Whether a manifest is the note of a lost server, from its id alone."""
    return manifest_id.startswith(_LOST)


def is_taken(manifest_id: str) -> bool:
    """Whether a manifest says what after-load took away, from its id alone: no new file waits in it."""
    return manifest_id.startswith(_TAKEN)


def is_rebuild(manifest_id: str) -> bool:
    """Whether a manifest is a rebuild's, from its id alone: nothing new waits in it."""
    return manifest_id.startswith(_REBUILD)


def tally_of(manifest_id: str) -> Tally:
    """What a manifest's id says of its hints; one of an older lake says no more than how many they are.

    Raises:
        ValueError: the id is not one that a manifest can have.
    """
    match = _STEM.match(manifest_id)
    if not match:
        raise ValueError(
            f"'{manifest_id}' is not a manifest's id (<ULID>-<hints>-<bytes>-<oldest>, or the same behind lost-, "
            "taken- or rebuild-, or instead of the ULID deferred-<n>-<digest>)"
        )
    hints, size, oldest = match.groups()
    return Tally(int(hints), int(size or 0), int(oldest or 0) or None)


def chunked(table: str, origin: str, hints: Sequence[Hint], cap: int, most_bytes: float = inf) -> Iterator[Manifest]:
    """Manifests of at most ``cap`` hints each: a batch takes whole manifests only, so none may exceed the cap.

    Args:
        table: table key.
        origin: who writes them.
        hints: what they say.
        cap: most hints of one.
        most_bytes: most bytes of the objects of one, as far as they were told, unless it has one hint only.
    """
    some: list[Hint] = []
    size = 0
    for hint in hints:
        size += hint.size or 0
        if some and (len(some) == cap or size > most_bytes):
            yield Manifest.new(table, origin, some)
            some, size = [], hint.size or 0
        some.append(hint)
    if some:
        yield Manifest.new(table, origin, some)


def _tally(hints: Sequence[Hint]) -> str:
    times = [max(0, int(parse_time(hint.event_time).timestamp())) for hint in hints if hint.event_time]
    return f"{len(hints)}-{min(sum(hint.size or 0 for hint in hints), _MOST_BYTES)}-{min(times, default=0)}"


def _lean(hint: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in hint.items() if value is not None and value is not False}
