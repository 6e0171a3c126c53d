"""The list of identities that `tidegate forget` reads."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tidegate.platform.cli.answers.plans import ForgetAnswer
from tidegate.platform.cli.commands.forget import (
    export_lines,
    found_answer,
    found_lines,
    read_identities,
    state_lines,
    states_answer,
    unsearched_lines,
)
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.forgetting.request import ForgetRequest
from tidegate.platform.forgetting.forget import Progress
from tidegate.platform.forgetting.subject_search import Found

NOW = datetime.now(UTC).replace(microsecond=0)
REQUEST = ForgetRequest("01J", "eva", NOW, NOW + timedelta(days=30), "person", "c", ("d1", "d2"))


def test_a_list_of_another_program_has_the_same_identities(tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_bytes(b"\xef\xbb\xbf42\r\n\r\n43\r\n")
    assert read_identities(file) == ["42", "43"]
    assert read_identities(None) == []


def test_a_space_that_would_keep_a_person_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_text("42\n43 \n")
    with pytest.raises(CommandError, match=r"line 2 of .* begins or ends with a space"):
        read_identities(file)


def test_what_was_found_is_shown_by_place() -> None:
    found = [Found("orders", 3, 2, 500, 1, {"quarantine/rows": 1}, 2)]
    assert found_lines(found, 1) == [
        "1 subjects: 5 rows, lines and messages",
        "  bronze.orders   3 rows in 2 data files (500 bytes), of 2 source objects, which stay as they are",
        "  silver.orders   1 rows, tombstones included",
        "  quarantine/rows/   1 lines or messages of orders",
    ]


def test_a_request_shows_what_it_waits_for_and_whether_it_is_late() -> None:
    late = replace(REQUEST, id="01K", until=NOW - timedelta(days=1))
    due = NOW + timedelta(days=7)
    lines = state_lines([Progress(REQUEST), Progress(late, NOW, due), Progress(REQUEST, NOW, due, NOW)])
    assert lines[0] == f"request 01J of eva, 2 subjects: open; must be done until {REQUEST.until:%Y-%m-%d}"
    assert lines[1].startswith("LATE: request 01K of eva, 2 subjects: waits for vacuum, its files may be deleted from")
    assert lines[2:] == ["1 of 3 requests are done"]


SILVER = {"keys": ["id"], "order": "at", "every": 10}
TABLES = [
    TableSpec.model_validate({"name": name, "prefix": f"s3://landing/{name}/", "silver": {**SILVER, **more}})
    for name, more in (("plain", {}), ("orders", {"export": {"folder": "s3://out/orders/"}}))
]


def test_exports_are_named_although_nobody_searches_them() -> None:
    (line,) = export_lines(TABLES)
    assert line.startswith("  s3://out/orders/   exports of silver.orders are not searched, and stay.")


def test_programs_get_the_numbers_and_no_identity() -> None:
    answer = found_answer([Found("orders", 3, 2, 500, 1, {"quarantine/rows": 1}, 2)], TABLES)
    assert answer.model_dump(mode="json") == {
        "found": [
            {
                "table": "orders",
                "bronze_rows": 3,
                "bronze_files": 2,
                "bronze_bytes": 500,
                "sources": 2,
                "silver_rows": 1,
                "kept": {"quarantine/rows": 1},
            }
        ],
        "exports": ["s3://out/orders/"],
        "requests": None,
    }
    late = replace(REQUEST, id="01K", until=NOW - timedelta(days=1))
    due = NOW + timedelta(days=7)
    states = states_answer([Progress(REQUEST), Progress(late, NOW, due), Progress(late, NOW, due, NOW)])
    assert [
        (
            forget_request_answer.id,
            forget_request_answer.state,
            forget_request_answer.late,
            forget_request_answer.files_may_go,
        )
        for forget_request_answer in states.requests or ()
    ] == [
        ("01J", "open", False, None),
        ("01K", "waits for vacuum", True, due),
        ("01K", "done", False, due),
    ]
    text = states.model_dump_json()
    assert ForgetAnswer.model_validate_json(text, strict=True) == states
    assert "d1" not in text


def test_folders_that_are_not_searched_are_named_up_to_ten() -> None:
    assert unsearched_lines([]) == []
    (line,) = unsearched_lines([f"silver/t{n:02}" for n in range(12)])
    assert "not searched: silver/t00, " in line
    assert "silver/t09, and 2 more. lake.yaml has no such table" in line
