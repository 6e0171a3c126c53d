"""A request to forget persons, as the lake keeps it for ever: it is the suppression list, too.

A request has keyed digests of subjects. A reader of the lake's objects who does not have the secret cannot say whom
they are of. What has left each table for a request is counted over all calls that worked it off.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.stored_members import read_members, reading, require_format, require_known

FORMAT = 1

#: Characters that the secret needs. Shorter ones could be found by trying all.
MIN_SECRET_CHARS = 16


@dataclass(frozen=True)
class ForgetRequest:
    """A request. It has no identity, only digests.

    Attributes:
        id: ULID.
        by: the user or run that asked.
        at: when, in UTC.
        until: when it must be done, in UTC.
        kind: kind of the subjects.
        check: digest by which a process sees whether it has the secret of the digests.
        digests: of the subjects, in order.
    """

    id: str
    by: str
    at: datetime
    until: datetime
    kind: str
    check: str
    digests: tuple[str, ...]

    def to_json(self) -> str:
        """Return the body of the request's object."""
        body = {
            "format": FORMAT,
            "id": self.id,
            "by": self.by,
            "at": self.at.isoformat(),
            "until": self.until.isoformat(),
            "kind": self.kind,
            "check": self.check,
            "digests": list(self.digests),
        }
        return json.dumps(body, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> ForgetRequest:
        """Read the body of a request's object.

        Args:
            where: the object's address, for error messages.

        Raises:
            BadValue: it is not a request, or a newer Tidegate wrote it. The message names `where`.
        """
        with reading(where, "a request to forget"):
            body: dict[str, Any] = json.loads(text)
            require_format(body["format"], FORMAT)
            require_known(body, ("format", *(field.name for field in fields(cls))), "a request")
            at, until = (datetime.fromisoformat(body[name]) for name in ("at", "until"))
            return cls(body["id"], body["by"], at, until, body["kind"], body["check"], tuple(body["digests"]))


@dataclass(frozen=True)
class GoneRows:
    """What left a table: rows of bronze and silver, and lines and messages of objects of the lake.

    Attributes:
        table: SQL name.
        bronze: rows.
        silver: rows.
        kept: lines and messages.
        emptied: rows of others in silver that lost a value which bronze does not give again.
    """

    table: str
    bronze: int
    silver: int
    kept: int
    emptied: int = 0


def gone_rows(
    found: Sequence[Mapping[str, Any]], earlier: Sequence[Mapping[str, Any]] | None, now: Sequence[GoneRows]
) -> list[GoneRows]:
    """Return what has left each table, after a search that found nothing more.

    Args:
        found: what the tables had before anything was deleted, as the note `found` has it. A call that died may have
            taken out a part of it.
        earlier: what had left when such a search found nothing before, as the note `erased` has it; None if there was
            none. What left since came later.
        now: what this call took out.
    """
    if earlier is not None:
        counts = {entry["table"]: read_members(GoneRows, entry, "a table of a note") for entry in earlier}
        return [*_join_counts(counts, now, int.__add__).values()]
    counts = {
        entry["table"]: GoneRows(entry["table"], entry["bronze"], entry["silver"], sum(entry["kept"].values()))
        for entry in found
    }
    # Rows may have come between the count and the deletion, so that more left than was found.
    return [*_join_counts(counts, now, max).values()]


def _join_counts(counts: Mapping[str, GoneRows], others: Sequence[GoneRows], join: Any) -> dict[str, GoneRows]:
    joined = dict(counts)
    for other in others:
        rows = joined.get(other.table, GoneRows(other.table, 0, 0, 0))
        joined[other.table] = GoneRows(
            other.table,
            join(rows.bronze, other.bronze),
            join(rows.silver, other.silver),
            join(rows.kept, other.kept),
            rows.emptied + other.emptied,
        )
    return joined


class SubjectKey:
    """The key for one kind of subject. Each kind has its own, so equal values of two kinds have different digests.

    Args:
        secret: of the lake.
        kind: kind of the subjects, from lake.yaml.

    Raises:
        ValueError: the secret is too short. The message does not contain it.
    """

    def __init__(self, secret: str, kind: str) -> None:
        if len(secret) < MIN_SECRET_CHARS:
            raise BadSetting(f"has fewer than {MIN_SECRET_CHARS} characters")
        self.kind = kind
        self.key = _hmac(secret.encode(), f"tidegate:subject:{kind}")

    def __repr__(self) -> str:
        """Return a text without the key."""
        return f"SubjectKey({self.kind!r})"

    def digest(self, text: str) -> str:
        """Return the digest of a subject, in 64 hexadecimal digits."""
        return _hmac(self.key, text).hex()

    @property
    def check(self) -> str:
        """Digest of no subject, by which a later process sees whether it has the same secret."""
        return _hmac(self.key, "\0check").hex()


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
