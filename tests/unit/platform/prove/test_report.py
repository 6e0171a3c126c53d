"""The report of a proof: what it says of each claim, and what it does not show."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tidegate.platform.prove.claims import Claim
from tidegate.platform.prove.comparison import Found, ledger_claims, table_claims
from tidegate.platform.prove.oracle import Expected
from tidegate.platform.prove.outcomes import Awaited, Event, Outcomes
from tidegate.platform.prove.producers import Sent
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


#: What a run adds to the forms that are never shown.
HIDDEN = ("0123456789", "minio:9000", "spark.corp.internal", "/srv/Alice's files")


def report(*claims: Claim, hidden: tuple[str, ...] | None = HIDDEN) -> Report:
    return Report(claims, NUMBERS, FACTS, hidden)


def test_a_report_shows_no_account_and_no_name_unless_it_may() -> None:
    for text in (report(HELD).to_html(), json.dumps(report(HELD).to_json())):
        assert "0123456789" not in text
        assert "123456789012" not in text
    shown = json.dumps(report(HELD, hidden=None).to_json())
    assert BASE in shown
    assert "123456789012" in shown


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (
            'arn:aws:sts::123456789012:assumed-role/Admin/alice@corp.com may not s3:PutObject on "arn:aws-cn:s3:::x"',
            '… may not s3:PutObject on "…"',
        ),
        ("alice@corp.com is not c5.7@example.org", "… is not c5.7@example.org"),
        ("exit code 1; see /srv/alice/p/.tidegate/prove/0123456789/worker.log", "exit code 1; see …"),
        ("see ~/p/worker.log, or /srv/Alice's files/x/y", "see …, or …"),
        ("(orders_0123456789)", "(orders_…)"),
        (
            'Could not connect to the endpoint URL: "https://vpce-1.s3.eu-west-1.vpce.amazonaws.com/b"',
            'Could not connect to the endpoint URL: "https://…/b"',
        ),
        ("no answer of minio:9000 and sc://spark.corp.internal:15002", "no answer of … and sc://…"),
        ("DNS of spark.corp.internal, ipv4:10.0.0.5:15002", "DNS of …, ipv4:…:15002"),
        ("AKIAIOSFODNN7EXAMPLE", "…"),
        # What is in ordinary reports.
        ("30 rows, 0 missing, 1 surplus ((1, 'Customer 1', 0.5))", None),
        ("customers/50%+é [1].json, s-1/x; bronze.customers: 0 rows", None),
    ],
)
def test_a_report_shows_no_person_no_host_and_no_path(found: str, shown: str | None) -> None:
    claim = Claim("a", "It works", "looked", True, found)
    assert report(claim).to_json()["claims"][0]["found"] == (found if shown is None else shown)
    assert report(claim, hidden=None).to_json()["claims"][0]["found"] == found


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


SENT = Sent(message_ids=["m1", "m2"], changed=["good", "good", "bad"])
EVENTS = {
    "m1#0": Event("good", "duplicate"),
    "m2#0": Event("", "malformed"),
    "n1#0": Event("good", "committed"),
    "n2#0": Event("good", "committed"),
    "n3#0": Event("bad", "quarantined"),
}


def claims_of(outcomes: Outcomes, found: Found) -> dict[str, bool | None]:
    return {claim.id: claim.held for claim in ledger_claims(EXPECTED, outcomes, found, SENT)}


@pytest.mark.parametrize(
    ("lost", "surplus", "said"),
    [
        ([], {}, "5 caused, 0 lost: 2 committed, 1 duplicate, 1 malformed, 1 quarantined"),
        (["m2#0"], {"m2#1": Event("", "malformed")}, None),  # another record of the same message
        (["m2#0"], {"n4#0": Event("", "malformed")}, "5 caused, 1 lost, such as m2: "),
        (["n3#0"], {"n4#0": Event("good", "committed"), "n5#0": Event("x", "no_table")}, "1 lost, such as bad: "),
        (["n2#0"], {"m1#1": Event("good", "duplicate")}, "5 caused, 1 lost, such as good: "),
    ],
)
def test_each_event_counts_for_itself(lost: list[str], surplus: dict[str, Event], said: str | None) -> None:
    events = {id: event for id, event in EVENTS.items() if id not in lost} | surplus
    claims = ledger_claims(EXPECTED, Outcomes(events=events), Found(), SENT)
    (claim,) = [claim for claim in claims if claim.id == "events"]
    assert claim.held == (said is None or not lost)
    assert (said or "5 caused, 0 lost") in claim.found


def test_ledgers_hold_only_with_the_bad_files_every_event_and_nobody_who_was_forgotten() -> None:
    right = Outcomes({"bad": "quarantined", "good": "committed"}, bad_rows={"rows": 2}, events=EVENTS)
    found = Found(quarantined={"bad"}, bad_rows=Counter(rows=2), of_person={"bronze": 0}, erased=True)
    assert claims_of(right, found) == {"quarantine": True, "events": True, "forgotten": True}
    for wrong in (
        replace(found, quarantined=set()),
        replace(found, quarantined={"bad", "good"}),
        replace(found, bad_rows=Counter(rows=1)),
        replace(found, bad_rows=Counter(rows=2, good=1)),
    ):
        assert claims_of(right, wrong)["quarantine"] is False
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
