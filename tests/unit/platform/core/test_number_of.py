"""A number agrees with its noun."""

from __future__ import annotations

import pytest

from tidegate.platform.core.number_of import number_of


@pytest.mark.parametrize(("count", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (12345, "12,345 rows")])
def test_a_number_has_its_noun(count: int, text: str) -> None:
    assert number_of(count, "row") == text
