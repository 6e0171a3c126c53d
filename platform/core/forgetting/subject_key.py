"""The keyed digests of subjects: who knows the lake's objects but not the secret cannot say whom they are of."""

from __future__ import annotations

import hashlib
import hmac

#: Characters that the secret needs. Shorter ones could be found by trying all.
MIN_SECRET_CHARS = 16


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
            raise ValueError(f"has fewer than {MIN_SECRET_CHARS} characters")
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
