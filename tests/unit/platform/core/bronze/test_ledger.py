"""Ledger rows, and the columns that store them."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.bronze import ledger
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.ledger import (
    COLUMNS,
    SETTLED,
    Cause,
    Effort,
    LedgerRow,
    Status,
    format_reason,
    shorten_reason,
)
from tidegate.platform.core.bronze.plan import PlannedHint, ledger_row
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.lake.ledger import Ledger
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.results import CommitResult

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
        cause=st.none() | st.sampled_from(Cause),
        bad_rows_folder=st.none() | TEXT,
    )
)
def test_a_row_survives_its_dictionary(row: LedgerRow) -> None:
    body = row.to_dict()
    assert LedgerRow.from_dict(body) == row
    assert None not in body.values()


def test_statuses_are_those_of_the_accounting() -> None:
    assert sorted(str(status) for status in Status) == [
        "committed",
        "complete",
        "duplicate",
        "moved",
        "preexisting",
        "quarantined",
        "removed",
        "unapplied",
        "waiting",
    ]
    assert {str(status) for status in SETTLED} == {"committed", "complete", "duplicate", "moved", "preexisting"}


def test_the_columns_of_a_ledger_are_those_that_people_s_queries_and_older_ledgers_have() -> None:
    was = """
    kind STRING, n BIGINT, position INT, key STRING, etag STRING, size BIGINT, version_id STRING, event_id STRING,
    event_name STRING, event_time TIMESTAMP, manifest STRING, run_id STRING, status STRING, reason STRING, rows BIGINT,
    bad_rows BIGINT, checksum STRING, cause STRING, bad_rows_folder STRING, event_type STRING, removed_rows BIGINT,
    digest STRING, outcome STRING, generation STRING, bronze_version BIGINT, recorded_at TIMESTAMP, milliseconds BIGINT
    """
    assert dict(part.split() for part in was.split(",")) == COLUMNS


@pytest.fixture
def batch() -> Batch:
    """Make a batch with one row that has every field, and one that has only the required fields."""
    full = LedgerRow(
        "a", Status.COMMITTED, "why", "etag", 10, "v1", "m#0", "ObjectCreated:Put", "2024-01-02T03:04:05.123456+00:00",
        "manifest", 3, 1, "CRC64NVME:nuCUKjhVRg8=", Cause.OVERWRITTEN, "s3a://b/quarantine/rows/t/2-X",
        "orders", 4,
    )  # fmt: skip
    rows = (full, LedgerRow("b", Status.REMOVED))
    return Batch(
        lake="lake", table="t", generation="g", n=2, location="s3a://b/t", after_version=0, manifests=("m",), rows=rows
    ).seal()


def _state() -> Any:
    fields = [SimpleNamespace(name=name) for name in COLUMNS]
    return SimpleNamespace(version=1, exists=True, txn=1, schema=SimpleNamespace(fields=fields))


def _appended(batch: Batch, outcome: str) -> list[dict[str, Any]]:
    """Return the rows that are appended to the ledger."""
    appended: list[dict[str, Any]] = []
    delta = SimpleNamespace(
        append=lambda location, rows, app_id, number, seen: appended.extend(rows if seen == 1 else ()),
        table_state=lambda location, app_id: _state(),
    )
    landed = CommitResult(7, outcome, batch.digest, None if outcome == "committed" else "a file is gone", False)
    Ledger(delta, "s3a://lake/ledger/t", "t").append(batch, landed, "run", Effort(250))  # type: ignore[arg-type]
    return appended


@pytest.mark.parametrize("outcome", ["committed", "void"])
def test_what_is_appended_has_columns_and_types_of_the_ledger(outcome: str, batch: Batch) -> None:
    """`append_rows` refuses other columns and types, in the middle of a run."""
    types = {str: "STRING", int: "BIGINT"}
    appended = _appended(batch, outcome)
    assert [row["kind"] for row in appended] == [
        "header",
        *["row"] * (len(batch.rows) if outcome == "committed" else 0),
    ]
    for row in json.loads(json.dumps(appended)):
        for name, value in row.items():
            kind = {"position": "BIGINT", "event_time": "BIGINT", "recorded_at": "BIGINT"}.get(name, COLUMNS[name])
            assert value is None or types[type(value)] == kind, name
    times = [row["event_time"] for row in appended if row.get("event_time")]
    assert times == ([1704164645123456] if outcome == "committed" else [])


def test_the_longest_batch_goes_to_the_server_in_one_message(batch: Batch) -> None:
    """10,000 files have the longest key and folder and a very long reason. Spark Connect accepts 128 MiB."""
    key, end = "é" * 512, "; its rows in the table stay"
    folder = f"s3a://lake/quarantine/rows/{'~c3' * 320}/1-X"
    hint = PlannedHint(Hint(key, Event("m" * 60, version_id="v" * 1024)), "m" * 60)
    row = ledger_row(hint, Status.QUARANTINED, "é" * 300_000 + end, None)
    assert len(row.reason or "") <= 900
    assert (row.reason or "").endswith(end)
    row = replace(row, bad_rows_folder=folder)
    older = replace(row, reason="é" * 300_000)  # decided by a version without the limit
    sent: list[str] = []
    delta = Delta(SparkRemote.parse("sc://localhost:1"), lambda: None)  # type: ignore[arg-type, return-value]
    delta._procedures.call_one = lambda name, rows, **_: sent.append(rows) or {"version": 1}  # type: ignore[method-assign]
    delta.table_state = lambda *_: _state()  # type: ignore[assignment, method-assign]
    for long_row in (row, older):
        sent.clear()
        some = replace(batch, rows=(long_row,) * 10)
        Ledger(delta, "s3a://lake/ledger/t", "t").append(
            some, CommitResult(7, "committed", batch.digest, None, False), "run", Effort(250)
        )
        assert 1_000 * len(literal(sent[0]).encode()) < 120 << 20


def test_a_reason_that_is_not_long_stays_as_it_is() -> None:
    assert shorten_reason(None) is None
    assert shorten_reason("x" * 900) == "x" * 900
    assert shorten_reason("a" * 300 + "b" * 601) == "a" * 299 + "…" + "b" * 600


FOLDER = "s3a://lake/root/quarantine/rows/landing.sales/00000000000000000002-01JDGZ5T6R8W9Q0M1N2P3S4T5V"


@pytest.mark.parametrize(
    ("reason", "folder"),
    [
        (f"1 of its 2 rows do not fit the table, such as: a value; see {FOLDER}", FOLDER),
        (f"none of its 1 rows fits the table, such as: ; see s3a://a/b; see {FOLDER}", FOLDER),
        (f"1 of its 3 rows do not fit; see {FOLDER}; 1 of its rows were in the table already", FOLDER),
        ("none of its 1 rows fits the table, such as: ; see s3a://a/b", None),
        (None, None),
    ],
)
def test_the_folder_in_a_reason_of_an_older_version_is_found(reason: str | None, folder: str | None) -> None:
    assert ledger.bad_rows_folder(reason) == folder


def test_people_read_the_folder_once_after_the_reason_of_any_version() -> None:
    # `aws s3 ls` does not know s3a://.
    shown = FOLDER.replace("s3a://", "s3://")
    for reason in ("1 of its 2 rows", f"1 of its 2 rows; see {FOLDER}"):
        assert format_reason(reason, FOLDER) == f"1 of its 2 rows; see {shown}"
        assert format_reason(reason, FOLDER, 4) == f"1 of…; see {shown}"
    both = f"such as: ; see s3a://a/b; see {FOLDER}; 1 came again"
    assert format_reason(both, FOLDER) == f"such as: ; see s3a://a/b; 1 came again; see {shown}"
    assert format_reason("not CSV", None, 100) == "not CSV"


def test_columns_are_read_before_reasons() -> None:
    said = {"key": "a", "status": "quarantined", "reason": f"overwritten: a; see {FOLDER}"}
    row = LedgerRow.from_dict({**said, "bad_rows_folder": "s3a://b/f"})
    assert (row.cause, row.bad_rows_folder) == (None, "s3a://b/f")
    assert LedgerRow.from_dict(row.to_dict()) == row


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"key": "a"},
        {"key": "a", "status": "done"},
        {"key": "a", "status": "moved", "x": 1},
        {"key": "a", "status": "moved", "cause": "other"},
    ],
)
def test_other_rows_are_refused(body: dict[str, object]) -> None:
    with pytest.raises((KeyError, ValueError, TypeError)):
        LedgerRow.from_dict(body)


def test_an_object_entered_by_a_batch_or_was_in_its_table_when_that_was_adopted() -> None:
    entered = {
        (status, cause) for status in Status for cause in (None, *Cause) if LedgerRow("a", status, cause=cause).entered
    }
    assert entered == {(Status.PREEXISTING, None), *((Status.COMMITTED, cause) for cause in (None, *Cause))}
