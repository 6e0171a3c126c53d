"""Ledger rows: one decision each, and the columns they are stored in."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.ledger import LEDGER_DDL, SETTLED, LedgerRow, Status
from tidegate.resources import ledger

TEXT = st.text(max_size=10)


@given(
    st.builds(
        LedgerRow,
        key=TEXT,
        status=st.sampled_from(Status),
        reason=st.none() | TEXT,
        etag=st.none() | TEXT,
        size=st.none() | st.integers(),
        rows=st.none() | st.integers(),
    )
)
def test_a_row_survives_its_dictionary(row: LedgerRow) -> None:
    body = row.to_dict()
    assert LedgerRow.from_dict(body) == row
    assert None not in body.values()


def test_statuses_are_those_of_the_accounting() -> None:
    assert sorted(str(one) for one in Status) == [
        "committed",
        "duplicate",
        "moved",
        "preexisting",
        "quarantined",
        "removed",
        "unapplied",
    ]
    assert {str(one) for one in SETTLED} == {"committed", "duplicate", "moved", "preexisting"}


def test_every_field_of_a_row_has_its_column() -> None:
    columns = [part.split()[0] for part in LEDGER_DDL.replace("\n", " ").split(", ")]
    assert {field.name for field in fields(LedgerRow)} <= set(columns)
    assert columns == [name for name, _ in ledger._COLUMNS]


@pytest.mark.parametrize(
    "body", [{}, {"key": "a"}, {"key": "a", "status": "done"}, {"key": "a", "status": "moved", "x": 1}]
)
def test_other_rows_are_refused(body: dict[str, object]) -> None:
    with pytest.raises((KeyError, ValueError, TypeError)):
        LedgerRow.from_dict(body)
