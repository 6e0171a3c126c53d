"""The report of a proof: what it says of each claim, and what it does not show."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tidegate.platform.prove.claims import Claim
from tidegate.platform.prove.comparison import Found, ledger_claims, table_claims
from tidegate.platform.prove.oracle import Expected
from tidegate.platform.prove.outcomes import Awaited, Outcomes
from tidegate.platform.prove.report import FORMAT, Report
from tidegate.platform.prove.tables import COMPARED

BASE = "tidegate-prove-0123456789"
HELD = Claim("a", "It works", "looked", True, f"s3://{BASE}-lake/x in arn:aws:sqs:eu-west-1:123456789012:{BASE}")
FAILED = Claim("b", "It <races>", "raced", False, "2 won", "no lake & no rows")
NUMBERS: dict[str, Any] = {
    "dollars": 0.01,
    "dollars_at_most": 0.02,
    "spark_requests": "counted",
    "requests": {"S3": {"PutObject": 1200}},
    "put_to_row_seconds": {"count": 3, "p50": 1.5, "p95": 2.5},
}
FACTS = {"endpoint": "AWS", "region": "eu-west-1", "files": 1000, "versions": {"python": "3.11.7"}}


def report(*claims: Claim, hidden: str | None = BASE) -> Report:
    return Report(claims, NUMBERS, FACTS, hidden)


def test_a_report_shows_no_account_and_no_name_unless_it_may() -> None:
    for text in (report(HELD).to_html(), json.dumps(report(HELD).to_json())):
        assert "0123456789" not in text
        assert "123456789012" not in text
    shown = json.dumps(report(HELD, hidden=None).to_json())
    assert BASE in shown
    assert "123456789012" in shown


def test_a_report_is_right_only_if_every_claim_held() -> None:
    unchecked = Claim("c", "It lasts", "waited", None, "not checked")
    assert report(HELD).ok
    assert not report(HELD, FAILED).ok
    assert not report(HELD, unchecked).ok
    assert report(HELD, FAILED, unchecked).verdict == "1 of 3 claims held"


def test_the_page_escapes_what_was_found_and_says_what_a_failure_means() -> None:
    page = report(HELD, FAILED).to_html()
    assert "It &lt;races&gt;" in page
    assert "<b>no lake &amp; no rows</b>" in page
    assert page.count('class="failed"') == 2  # the verdict, and the claim
    assert "1,200" in page
    assert "http" not in page


def test_the_form_has_a_version() -> None:
    found = report(HELD).to_json()
    assert found["format"] == FORMAT == 1
    assert set(found) == {"format", "made", "ok", "endpoint", "region", "files", "versions", "claims", "numbers"}
    assert set(found["claims"][0]) == {"id", "says", "how", "held", "found", "otherwise"}


EXPECTED = Expected(
    {table.name: Counter({(1, 2): 1}) for table in COMPARED}, {"bad"}, {"rows": 2}, {"bad": "quarantined"}
)


@pytest.mark.parametrize(
    ("rows", "held", "found"),
    [
        (Counter({(1, 2): 1}), True, "1 row"),
        (Counter({(1, 2): 2}), False, "2 rows, 0 missing, 1 surplus ((1, 2))"),
        (Counter(), False, "0 rows, 1 missing ((1, 2)), 0 surplus"),
        ("no such table", False, "no such table"),
    ],
)
def test_a_table_holds_only_with_exactly_the_rows_of_the_oracle(rows: Any, held: bool, found: str) -> None:
    claims = table_claims(EXPECTED, {table.name: rows for table in COMPARED})
    assert {(claim.held, claim.found) for claim in claims} == {(held, found)}


def claims_of(outcomes: Outcomes, found: Found, events: int = 3) -> dict[str, bool | None]:
    return {claim.id: claim.held for claim in ledger_claims(EXPECTED, outcomes, found, events)}


def test_ledgers_hold_only_with_the_bad_files_every_event_and_nobody_who_was_forgotten() -> None:
    right = Outcomes(states={"bad": "quarantined", "good": "committed"}, bad_rows={"rows": 2})
    found = Found(events=Counter(committed=2, malformed=1), of_person={"bronze": 0}, erased=True)
    assert claims_of(right, found) == {"quarantine": True, "events": True, "forgotten": True}
    assert claims_of(right, found, 4)["events"] is False
    assert claims_of(Outcomes(states={"bad": "quarantined"}), found)["quarantine"] is False
    assert claims_of(Outcomes(states={"bad": "committed"}, bad_rows={"rows": 2}), found)["quarantine"] is False
    assert claims_of(right, Found(of_person={"bronze": 1}, erased=True))["forgotten"] is False
    assert claims_of(right, Found(of_person={"bronze": -1}, erased=True))["forgotten"] is False
    assert claims_of(right, Found(of_person={"bronze": 0}, erased=False))["forgotten"] is False


def test_a_file_has_arrived_with_its_state_and_its_etag() -> None:
    awaited = Awaited({"a": "committed", "b": "removed", "c": "quarantined"}, {"a": "1", "c": "3"})
    states = {"a": "committed", "b": "removed", "c": "quarantined"}
    assert awaited.missing_keys(Outcomes(states, {"a": "1", "b": "2", "c": "3"})) == []
    assert awaited.missing_keys(Outcomes(states, {"a": "0", "b": "2", "c": "3"})) == ["a"]
    assert awaited.missing_keys(Outcomes({"a": "committed"}, {"a": "1"})) == ["b", "c"]
