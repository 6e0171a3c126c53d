"""One way in which senders sign their webhooks and identify them, and the requests that they sign."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.webhook.refusal import Reason, Refusal

#: Characters, or bytes of a key, that a secret has at least.
MIN_SECRET = 16

#: Seconds between the time in a signature and the clock of this machine. Every scheme with a time recommends five
#: minutes.
TOLERANCE = 300
_MAX_DIGITS = 12


def _accept_secret(_: str) -> str:
    return ""


def _decline_challenge(_: Mapping[str, Any]) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Received:
    """A request of a sender.

    Attributes:
        headers: by name in lower case.
        body: the raw bytes, over which signatures are made.
        at: epoch seconds at which it came.
    """

    headers: Mapping[str, str]
    body: bytes
    at: float

    def header(self, name: str) -> str:
        """Return a header that the scheme needs.

        Raises:
            Refusal: the request does not have it.
        """
        value = self.headers.get(name, "").strip()
        if not value:
            raise Refusal(Reason.UNSIGNED, f"the header {name} is missing, by which this webhook is verified")
        return value

    def seconds(self, text: str, source: str) -> int:
        """Return a time of a signature in epoch seconds.

        Args:
            text: the time as it was sent.
            source: its header, for the error.

        Raises:
            Refusal: it is not a number of seconds.
        """
        if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
            raise Refusal(Reason.SIGNATURE, f"the time in the header {source} is not a whole number of epoch seconds")
        return int(text)

    def refuse_old(self, seconds: int) -> None:
        """Refuse a request whose signature was made long ago, or in the future.

        Call it after the signature was verified, because only then the sender is known to have written the time.

        Raises:
            Refusal: the clocks differ by more than `TOLERANCE`.
        """
        age = self.at - seconds
        if abs(age) > TOLERANCE:
            what = f"{age:.0f} s old" if age > 0 else f"{-age:.0f} s in the future"
            raise Refusal(
                Reason.CLOCK,
                f"the signature is right but {what}, and {TOLERANCE} s are allowed: send it again with a new "
                "signature, and compare the clocks of both machines if it was new",
            )


@dataclass(frozen=True)
class Scheme:
    """A scheme. Deliveries without an id of the scheme are identified by the hash of their body.

    Attributes:
        verify: refuses a request that none of the secrets signed, or whose signature is too old.
        headers: the headers that it needs. A request without one of them is refused before its body is read.
        id_header: the header with the id of the webhook, which each retry has again.
        id_member: the member of the body with that id, if it is in no header.
        time_member: the member of the body with the time of the event, in epoch seconds, which each retry has again.
        secret_problem: says what is wrong with a secret; empty if nothing is. The text does not contain the secret.
        challenge: returns the answer to a test of the address, which is not a row.
    """

    verify: Callable[[Received, Sequence[str]], None]
    headers: tuple[str, ...]
    id_header: str = ""
    id_member: str = ""
    time_member: str = ""
    secret_problem: Callable[[str], str] = _accept_secret
    challenge: Callable[[Mapping[str, Any]], str | None] = _decline_challenge


def hmac_sha256(secret: str, *parts: bytes) -> bytes:
    """Return the HMAC-SHA256 of the joined parts, with the secret's text as the key."""
    return hmac.digest(secret.encode(), b"".join(parts), hashlib.sha256)


def require_match(expected: Sequence[str], given: Iterable[str], header: str) -> None:
    """Refuse a request none of whose signatures is one of the expected ones.

    Every pair is compared, each in constant time, so that the time shows neither the secret nor which of them matched.

    Args:
        expected: a signature for each secret.
        given: the signatures of the request.
        header: where they are, for the error.

    Raises:
        Refusal: none matches.
    """
    pairs = [(digest, other) for digest in expected for other in given]
    matched = [hmac.compare_digest(digest.encode(), other.encode(errors="replace")) for digest, other in pairs]
    if not any(matched):
        raise Refusal(
            Reason.SIGNATURE,
            f"the signature in the header {header} does not fit the body: compare the secret on both sides, and let "
            "no proxy change the body",
        )
