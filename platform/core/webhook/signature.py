"""Keyed hashes, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence

from tidegate.platform.core.webhook.refusal import Reason, Refusal


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
