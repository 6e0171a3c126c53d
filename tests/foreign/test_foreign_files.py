"""Nothing that a producer writes breaks a table: real files of foreign writers, through the real pipeline.

Every file enters with all its values, as its writer's own reader sees them, or goes to the quarantine with a reason
that says what to do; and whatever came first, a plain file that follows gets in. The cases: ``tests/support/foreign``.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.foreign.case import Case, File
from tests.support.foreign.cases import CASES
from tests.support.foreign.landing import Landed, Landing
from tests.support.foreign.same import same

#: Columns that Tidegate adds to loaded tables.
_OURS = {"_source_path", "_source_etag", "_source_event_time", "_ingested_at", "_batch"}
#: A reason says what to do, and in our words.
_REMEDY = re.compile(r"\b(write|cast|change|convert|rename|set|use|remove|declare|leave|add|split|drop|load|give)\b")
_FOREIGN_WORDS = re.compile(r"org\.apache|SQLSTATE|\[[A-Z_.]{8,}|Traceback|NO_HINT")

_FILES = [pytest.param(case, file, id=f"{case.name}/{file.key}") for case in CASES for file in case.files]


@pytest.mark.parametrize(("case", "file"), _FILES)
def test_a_file_ends_as_it_should(landing: Landing, case: Case, file: File) -> None:
    landed, expect = landing.of(case), case.expected(file)
    assert landed.failed == []
    row = landed.fate[file.key]
    reason = row.reason or ""
    if expect.kind == "quarantined" or (expect.kind == "same or quarantined" and row.status == "quarantined"):
        assert row.status == "quarantined", landed.of(file)
        assert landed.of(file) == []
        assert [word for word in expect.says if word not in reason] == [], reason
        assert _REMEDY.search(reason), reason
        assert not _FOREIGN_WORDS.search(reason), reason
        assert not (case.loaded and "load the table" in reason), "false advice"
        return
    assert (row.status, row.bad_rows or 0) == ("committed", expect.bad), reason
    _assert_same(case, file, landed)
    if not case.loaded and expect.kind in ("same", "copy"):
        ids = [one["id"] for one in landed.made[file.key].rows]
        copied = ["/_tidegate/" in landed.paths[id] for id in ids]
        assert copied == [expect.kind == "copy"] * len(ids)


def _assert_same(case: Case, file: File, landed: Landed) -> None:
    expected = sorted(landed.made[file.key].rows, key=_id)
    found = sorted(landed.of(file), key=_id)
    assert [row.get("id") for row in found] == [row.get("id") for row in expected]
    names = {name for row in expected for name in row}
    assert names <= landed.types.keys(), "columns are missing"
    for wanted, got in zip(expected, found, strict=True):
        differing = {
            name: (wanted.get(name), got[name])
            for name in got
            if not (case.loaded and name in _OURS) and not same(wanted.get(name), got[name])
        }
        assert differing == {}, f"id {wanted.get('id')}: {{column: (in the file, in the table)}}"
    assert {name: landed.types[name] for name in file.types} == file.types
    assert file.key not in landed.hidden, "a bound or a conversion hides rows from a selective query"


def _id(row: dict[str, Any]) -> tuple[bool, Any]:
    return row.get("id") is not None, row.get("id")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_good_file_still_gets_in_and_no_row_comes_twice(landing: Landing, case: Case) -> None:
    landed = landing.of(case)
    assert landed.failed == []
    assert landed.fate[case.good(case.good_id)[0]].status == "committed", landed.fate
    assert [row["id"] for row in landed.rows or [] if row.get("id") == case.good_id] == [case.good_id]
    committed = sum(row.rows or 0 for row in landed.fate.values() if row.status == "committed")
    assert len(landed.rows or []) == committed
