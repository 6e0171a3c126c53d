"""Which names under `personal` no column of bronze has."""

from __future__ import annotations

import pytest

from tidegate.platform.core.forgetting.subject_columns import (
    absent_columns,
    absent_subject,
    forgotten_record,
    forgotten_records,
    lost_subject,
)
from tidegate.platform.core.schema.column_types import Array, Field, Map, Simple, Struct

TEXT = Simple("string")
PERSON = Struct((Field("who", TEXT), Field("mail", TEXT)))
FIELDS = (
    Field("id", Simple("long")),
    Field("Who", TEXT),
    Field("after", PERSON),
    Field("people", Array(PERSON)),
    Field("names", Map(TEXT, TEXT)),
)
RESCUED = (*FIELDS, Field("_rescued_data", TEXT))

RECORD = forgotten_record("person", ["who", "after.who"])


@pytest.mark.parametrize(
    ("subject", "why"),
    [
        (["who"], None),
        (["whoo", "after.who"], None),
        ([], None),
        (["whoo"], "`tidegate forget` finds nobody: no column is called 'whoo'; it has id, Who, after, people, names"),
        (["after.whom"], "finds nobody: no column is called 'after.whom'; it has after.who, after.mail"),
        (["who", "people.who"], "people.who of `personal.subject` is within an array or a map"),
        (["names.who"], "names.who of `personal.subject` is within an array or a map"),
    ],
)
def test_a_subject_that_no_row_can_have_is_named(subject: list[str], why: str | None) -> None:
    found = absent_subject(subject, FIELDS)
    assert found is None if why is None else found is not None and why in found


def test_rescued_values_may_have_a_subject() -> None:
    assert absent_subject(["whoo"], RESCUED) is None
    assert absent_subject(["people.who"], RESCUED) is not None


def test_a_personal_column_with_a_wrong_name_is_named_with_the_nearest_names() -> None:
    assert absent_columns(["WHO", "after.Mail", "people.mail", "names.x"], FIELDS) is None
    assert absent_columns(["after.mial"], FIELDS) == ("no column is called 'after.mial'; it has after.who, after.mail")


@pytest.mark.parametrize(
    ("kind", "subject", "lost"),
    [
        ("person", ["After.Who", "WHO"], None),
        ("person", ["who", "after.who", "mail"], None),
        ("person", ["who"], "by after.who (kind 'person')"),
        ("client", ["who", "after.who"], "by after.who, who (kind 'person')"),
        (None, [], "by after.who, who (kind 'person')"),
    ],
)
def test_what_identified_forgotten_persons_still_does(kind: str | None, subject: list[str], lost: str | None) -> None:
    why = lost_subject({"delta.x": "1", **RECORD}, "orders", kind, subject)
    assert (why is None) if lost is None else (why is not None and f"forgotten in orders {lost}" in why)
    assert lost_subject({"delta.x": "1"}, "orders", kind, subject) is None


def test_only_the_records_are_kept_by_a_reset() -> None:
    assert forgotten_records({"tidegate.forgotten": "run", **RECORD}) == RECORD
