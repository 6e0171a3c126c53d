"""No file of a producer breaks a table: real files of foreign writers, through the real pipeline.

Every file enters with all its values, as its writer's own reader reads them, or is quarantined with a reason that says
what to do. A plain file that follows is always loaded. The cases are in `tests/support/foreign`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.foreign.case import Case, Expect, File, Row
from tests.support.foreign.cases import CASES
from tests.support.foreign.landing import Landed, Landing
from tests.support.foreign.others import by_delta_rs, by_duckdb, copied_down
from tests.support.foreign.same import plain, same

#: Columns that Tidegate adds to loaded tables.
_OURS = {"_source_path", "_source_etag", "_source_event_time", "_ingested_at", "_batch"}
#: A reason says what to do, in Tidegate's words.
_REMEDY = re.compile(r"\b(write|cast|change|convert|rename|set|use|remove|declare|leave|add|split|drop|load|give)\b")
_FOREIGN_WORDS = re.compile(r"org\.apache|SQLSTATE|\[[A-Z_.]{8,}|Traceback|NO_HINT")

_FILES = [pytest.param(case, file, id=f"{case.name}/{file.key}") for case in CASES for file in case.files]


@pytest.mark.parametrize(("case", "file"), _FILES)
def test_a_file_ends_as_it_should(landing: Landing, case: Case, file: File) -> None:
    landed, expect = landing.of(case), case.expected(file)
    assert not landed.failed, landed.failed
    row = landed.fate[file.key]
    reason = row.reason or ""
    if row.status == "quarantined" and expect.kind in ("quarantined", "same or quarantined"):
        assert landed.of(file) == []
        _assert_helpful(reason, expect)
        assert not (case.loaded and "load the table" in reason), f"false advice: {reason}"
        return
    assert expect.kind != "quarantined", f"{row.status}, but it should be quarantined: {landed.of(file)[:3]}"
    assert row.status == "committed", f"{row.status}: {reason}"
    assert (row.bad_rows or 0) == expect.bad, f"{row.bad_rows} rows are quarantined: {reason}"
    _assert_same(case, file, landed)
    if not case.loaded and expect.kind in ("same", "copy"):
        ids = [row.get("id") for row in landed.made[file.key].rows]
        where = {landed.paths[id] for id in ids}
        assert all(("/_tidegate/" in path) == (expect.kind == "copy") for path in where), f"no {expect.kind}: {where}"


def _assert_helpful(reason: str, expect: Expect) -> None:
    missing = [word for word in expect.says if word not in reason]
    assert not missing, f"it does not say {missing}: {reason}"
    assert _REMEDY.search(reason), f"it does not say what to do: {reason}"
    assert not _FOREIGN_WORDS.search(reason), f"it is not in our words: {reason}"


def _assert_same(case: Case, file: File, landed: Landed) -> None:
    expected = sorted(landed.made[file.key].rows, key=_id)
    found = sorted(landed.of(file), key=_id)
    assert [row.get("id") for row in found] == [row.get("id") for row in expected]
    if file.respelled:
        spelled = {name.lower(): name for name in landed.types}
        expected = [{spelled.get(name.lower(), name): value for name, value in row.items()} for row in expected]
    # A column without any value has no type yet: it joins the table with a file that has a value.
    missing = {
        name for row in expected for name, value in row.items() if plain(value) not in (None, {}, [])
    } - landed.types.keys()
    assert not missing, f"columns are missing: {missing}"
    differing = {
        (wanted.get("id"), name): (wanted.get(name), got[name])
        for wanted, got in zip(expected, found, strict=True)
        for name in got.keys() & landed.types.keys()
        if not (case.loaded and name in _OURS) and not same(wanted.get(name), got[name])
    }
    assert not differing, f"(id, column): (in the file, in the table): {differing}"
    types = {name: landed.types[name] for name in file.types}
    assert types == file.types, f"types are {types}"
    assert file.key not in landed.hidden, "a bound or a conversion hides rows from a selective query"


def _id(row: dict[str, Any]) -> tuple[bool, Any]:
    return row.get("id") is not None, row.get("id")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_good_file_still_gets_in_and_no_row_comes_twice(landing: Landing, case: Case) -> None:
    landed = landing.of(case)
    assert not landed.failed, landed.failed
    good = landed.fate[case.good(case.good_id)[0]]
    assert good.status == "committed", f"{good.status}: {good.reason}"
    assert [row["id"] for row in landed.rows or [] if row.get("id") == case.good_id] == [case.good_id]
    committed = sum(row.rows or 0 for row in landed.fate.values() if row.status == "committed")
    assert len(landed.rows or []) == committed


@pytest.mark.parametrize("read", [by_delta_rs, by_duckdb])
@pytest.mark.parametrize("case", [case for case in CASES if case.by_others], ids=lambda case: case.name)
def test_other_engines_read_the_same(
    landing: Landing, case: Case, read: Callable[[Path], Sequence[Row]], tmp_path: Path
) -> None:
    landed = landing.of(case)
    assert not landed.failed, landed.failed
    found = sorted(read(copied_down(landing.lake.clients, landed.location, tmp_path)), key=_id)
    expected = sorted(landed.rows or [], key=_id)
    assert [row.keys() for row in found] == [row.keys() for row in expected]
    differing = {
        (wanted["id"], name): (wanted[name], got[name])
        for wanted, got in zip(expected, found, strict=True)
        for name in got.keys() & landed.types.keys()
        if not same(wanted[name], got[name])
    }
    assert not differing, f"(id, column): (Spark, {read.__name__}): {differing}"
