"""The object of a request to forget, which is kept for ever."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime

import pytest

from tidegate.platform.core.forgetting.request import ForgetRequest, GoneRows, SubjectKey, gone_rows

REQUEST = ForgetRequest(
    "01J",
    "eva",
    datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    datetime(2026, 2, 1, tzinfo=UTC),
    "person",
    "c0",
    ("d1", "d2"),
)

FOUND = [{"table": "orders", "bronze": 5, "silver": 2, "kept": {"rows": 1, "quarantine/rows": 3}, "sources": 1}]
ALL = GoneRows("orders", 5, 2, 4)

SECRET = "a secret of sixteen characters or more"


def test_a_request_is_read_as_it_was_written() -> None:
    assert ForgetRequest.from_json(REQUEST.to_json(), "s3://x") == REQUEST


@pytest.mark.parametrize(
    ("text", "problem"),
    [("[]", "is not a request"), ("{}", "format"), (REQUEST.to_json().replace('"format": 1', '"format": 2'), "newer")],
)
def test_another_object_is_refused_by_its_address(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=rf"s3://x is not a request to forget: .*{problem}|s3://x.*{problem}"):
        ForgetRequest.from_json(text, "s3://x")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ([ALL], [ALL]),
        # An earlier call died after it had taken out the rows of bronze, or everything.
        ([GoneRows("orders", 0, 2, 4)], [ALL]),
        ([GoneRows("orders", 0, 0, 0)], [ALL]),
        # A run that had prepared its batch before the request brought two more rows.
        ([GoneRows("orders", 7, 2, 4)], [GoneRows("orders", 7, 2, 4)]),
        ([ALL, GoneRows("later", 1, 0, 0)], [ALL, GoneRows("later", 1, 0, 0)]),
        ([], [ALL]),
    ],
)
def test_what_a_call_that_died_took_out_is_counted(now: list[GoneRows], expected: list[GoneRows]) -> None:
    assert gone_rows(FOUND, None, now) == expected


def test_what_comes_after_a_search_that_found_nothing_is_added() -> None:
    earlier = [{"table": "orders", "bronze": 5, "silver": 2, "kept": 4}]
    assert gone_rows(FOUND, earlier, [GoneRows("orders", 1, 1, 0)]) == [GoneRows("orders", 6, 3, 4)]
    assert gone_rows(FOUND, earlier, [GoneRows("orders", 0, 0, 0)]) == [ALL]
    # Rows of others that lost a value are counted by the call that took it from them, and nowhere before.
    assert gone_rows(FOUND, None, [GoneRows("orders", 0, 0, 0, 3)]) == [GoneRows("orders", 5, 2, 4, 3)]
    noted = [{**earlier[0], "emptied": 3}]
    assert gone_rows(FOUND, noted, [GoneRows("orders", 0, 0, 0, 2)]) == [GoneRows("orders", 5, 2, 4, 5)]


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
