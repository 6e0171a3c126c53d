"""Columns of silver that may not name the person of a row."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.lake.silver_suppression import ignored_subject, unnamed_person_error


@pytest.mark.parametrize(
    ("options", "ignored"),
    [
        ({}, None),
        ({"ignore_null_updates": True}, "who.name"),
        ({"ignore_null_updates_columns": ["mail"]}, None),
        ({"ignore_null_updates_columns": ["WHO"]}, "who.name"),
        ({"ignore_null_updates_except_columns": ["Who"]}, None),
        ({"ignore_null_updates_except_columns": ["mail"]}, "who.name"),
        ({"ignore_null_updates": True, "keys": ["who.name", "id"]}, None),
    ],
)
def test_a_subject_that_a_row_may_leave_as_it_is_is_found(options: dict[str, Any], ignored: str | None) -> None:
    silver = SilverSpec.model_validate({"keys": ["id"], "order": "at", "every": 60, **options})
    assert ignored_subject(silver, [("who", "name")]) == (tuple(ignored.split(".")) if ignored else None)


def test_a_column_with_a_dot_in_its_own_name_is_asked_by_that_name() -> None:
    options = {"keys": ["id"], "order": "at", "every": 60, "ignore_null_updates_columns": ["user.id"]}
    silver = SilverSpec.model_validate(options)
    assert ignored_subject(silver, [("user.id",)]) == ("user.id",)
    assert ignored_subject(silver, [("user", "id")]) is None


def test_the_text_says_which_column_to_list() -> None:
    assert "list who in ignore_null_updates_except_columns, and let every row have it" in unnamed_person_error(
        "orders", "who"
    )
