"""The object of a request to forget, which is kept for ever."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tidegate.platform.core.forgetting.request import ForgetRequest

REQUEST = ForgetRequest(
    "01J",
    "eva",
    datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    datetime(2026, 2, 1, tzinfo=UTC),
    "person",
    "c0",
    ("d1", "d2"),
)


def test_a_request_is_read_as_it_was_written() -> None:
    assert ForgetRequest.from_json(REQUEST.to_json(), "s3://x") == REQUEST


@pytest.mark.parametrize(
    ("text", "problem"),
    [("[]", "is not a request"), ("{}", "format"), (REQUEST.to_json().replace('"format": 1', '"format": 2'), "newer")],
)
def test_another_object_is_refused_by_its_address(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=rf"s3://x is not a request to forget: .*{problem}|s3://x.*{problem}"):
        ForgetRequest.from_json(text, "s3://x")
