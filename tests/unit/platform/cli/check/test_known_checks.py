"""The ids of checks: the catalog, its page, and the output of `tidegate check`."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tidegate.platform.cli.check.check import run_check
from tidegate.platform.cli.check.findings import Failed, Finding, Warned, findings_answer, make_finding, show
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.main import app

ROOT = Path(__file__).parents[5]
PAGE = ROOT / "docs" / "reference" / "checks.md"
CLI = ROOT / "platform" / "cli"
LAKE = "lake: {root: s3://lake/x}\nqueues: [{name: q}]\nbuckets: [landing]\n"


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a valid lake.yaml in an environment without credentials: the check ends before its first
    request to AWS.
    """
    none = str(tmp_path / "none")
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "TIDEGATE_LAKE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (
        ("AWS_REGION", "us-east-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_CONFIG_FILE", none),
        ("AWS_SHARED_CREDENTIALS_FILE", none),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "lake.yaml"
    path.write_text(LAKE)
    return path


def test_the_page_lists_every_check_as_the_catalog_has_it() -> None:
    rows = re.findall(r"^\| `([\w.-]+)` \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = {id: (proves, remedy) for id, proves, remedy in rows}
    assert len(rows) == len(listed), "an id has two rows"
    catalog = {check.id: (check.proves, check.remedy) for check in Check}
    assert sorted(listed) == sorted(catalog)
    assert listed == catalog


def test_an_id_is_an_area_and_a_name_and_belongs_to_one_check() -> None:
    word = "[a-z]+(-[a-z]+)*"
    assert [check.id for check in Check if not re.fullmatch(rf"{word}\.{word}", check.id)] == []
    assert [id for id, times in Counter(check.id for check in Check).items() if times > 1] == []
    assert [title for title, times in Counter(check.title for check in Check).items() if times > 1] == []
    assert [check.id for check in Check if check.title.count("{") > 1] == []


def test_every_check_of_the_catalog_is_made_somewhere() -> None:
    sources = [path.read_text(encoding="utf-8") for path in CLI.rglob("*.py") if path.name != "catalog.py"]
    made = {name for text in sources for name in re.findall(r"\bCheck\.([A-Z_]+)\b", text)}
    assert made == set(Check.__members__)


def test_a_line_has_the_id_after_the_name() -> None:
    said = io.StringIO()
    console = Console(file=said, width=200, no_color=True)
    assert show(console, make_finding(Check.QUEUE_REACHABLE, "events", lambda: "3 messages wait")) == 0
    assert show(console, Finding(Check.CONFIGURATION, "lake.yaml", False, "no root")) == 1
    assert said.getvalue().splitlines() == [
        "ok     queue events: reachable [queue.reachable]  3 messages wait",
        "FAILED configuration [lake-yaml.valid]  no root",
    ]


def test_the_last_line_names_each_check_that_failed(nowhere: Path) -> None:
    said = io.StringIO()
    assert not run_check(Console(file=said, width=1000, no_color=True), nowhere, None, None)
    assert said.getvalue().endswith("\n1 check failed: aws.credentials\n")
    nowhere.write_text("lake: {root: s3://lake/x}\nqueues: [{name: q}]\nbuckets: [B]\ntables: [{}]\n")
    assert not run_check(Console(file=said, width=1000, no_color=True), nowhere, None, None)
    assert re.search(r"\n[2-9] checks failed: lake-yaml\.valid\n$", said.getvalue())


def test_an_outcome_is_ok_a_warning_or_failed() -> None:
    def warned() -> str:
        raise Warned("read this")

    def failed() -> str:
        raise Failed("do that")

    found = [make_finding(Check.TABLE_AFTER_LOAD, "orders", check) for check in (lambda: "tagged", warned, failed)]
    title = "table orders: after_load is allowed"
    assert json.loads(findings_answer(found).model_dump_json()) == [
        {"id": "table.after-load", "subject": "orders", "title": title, "outcome": outcome, "detail": detail}
        for outcome, detail in (("ok", "tagged"), ("warning", "read this"), ("failed", "do that"))
    ]


def test_json_is_one_document_on_standard_output_and_nothing_else(nowhere: Path) -> None:
    done = CliRunner().invoke(app, ["check", "--json", "--lake", str(nowhere)])
    configuration, credentials = json.loads(done.stdout)
    assert configuration == {
        "id": "lake-yaml.valid",
        "subject": str(nowhere),
        "title": "configuration",
        "outcome": "ok",
        "detail": "0 tables, 1 queues",
    }
    assert (credentials["id"], credentials["outcome"]) == ("aws.credentials", "failed")
    # Longer than a line of a terminal, and not wrapped.
    assert credentials["detail"].endswith("or the variables of AWS's default chain")
    assert done.exit_code == 1


def test_json_of_a_wrong_lake_has_its_problems(nowhere: Path) -> None:
    nowhere.write_text("lake: {root: s3://lake/x}\nqueues: [{name: q}]\nbuckets: [B]\ntables: [{}]\n")
    done = CliRunner().invoke(app, ["check", "--json", "--lake", str(nowhere)])
    found = json.loads(done.stdout)
    assert {(finding["id"], finding["outcome"]) for finding in found} == {("lake-yaml.valid", "failed")}
    assert any("lake.yaml:3: buckets[0]" in finding["detail"] for finding in found)
    assert "no local platform runs on" in done.stderr
    assert done.exit_code == 1


def test_json_and_an_address_are_two_questions(nowhere: Path) -> None:
    with pytest.raises(CommandError, match=r"--json prints checks .* leave one of them out"):
        run_check(Console(), nowhere, None, "s3://landing/a.json", as_json=True)
