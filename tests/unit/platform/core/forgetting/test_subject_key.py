"""The keyed digests of subjects."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from tidegate.platform.core.forgetting.subject_key import SubjectKey

SECRET = "a secret of sixteen characters or more"


def test_a_digest_is_hmac_sha_256_with_a_key_for_each_kind() -> None:
    key = SubjectKey(SECRET, "person")
    assert key.digest("é42") == hmac.new(key.key, "é42".encode(), hashlib.sha256).hexdigest()
    assert key.digest("42") != SubjectKey(SECRET, "employee").digest("42")
    assert key.digest("42") != SubjectKey(f"{SECRET}!", "person").digest("42")
    assert SECRET not in repr(key)
    assert key.key.hex() not in repr(key)


def test_a_short_secret_is_refused_and_not_shown() -> None:
    with pytest.raises(ValueError, match="fewer than 16") as caught:
        SubjectKey("fifteen-chars-x", "person")
    assert "fifteen" not in str(caught.value)
