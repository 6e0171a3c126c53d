"""A request to forget persons, as the lake keeps it for ever: it is the suppression list, too."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

FORMAT = 1


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
            ValueError: it is no request, or a newer Tidegate wrote it. The message names `where`.
        """
        try:
            body: dict[str, Any] = json.loads(text)
            if body["format"] != FORMAT:
                raise ValueError(f"its format is not {FORMAT}: a newer Tidegate wrote it. Upgrade Tidegate")
            at, until = (datetime.fromisoformat(body[name]) for name in ("at", "until"))
            return cls(body["id"], body["by"], at, until, body["kind"], body["check"], tuple(body["digests"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{where} is not a request to forget: {error}") from error
