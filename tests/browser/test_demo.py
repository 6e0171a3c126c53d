"""The demo as a new user sees it, on one home: interrupted, run again, inspected in the UI, and damaged.

These tests use sixty of its 365 days. `make demo` has the whole year, and the oracle's unit tests compute the year.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from playwright.sync_api import Page, sync_playwright
from pyspark.sql import SparkSession

from tests.support.lakes.lineage import drawn_edges
from tests.support.plugins.processes import born, eventually
from tests.support.servers.demo_process import DemoProcess
from tidegate.platform.demo.accounts import read_accounts
from tidegate.platform.demo.report import build_report, run_oracle
from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.spark.session import isolated_session

pytestmark = pytest.mark.timeout(1500)

BRONZE_FLIGHTS, BRONZE_AIRPORTS = "tidegate-landing.flights", "tidegate-landing.airports"
_SETTLED = 900.0
#: Labels that the page of a table must show.
_PAGE = """{ assetNodeOrError(assetKey: {path: ["bronze", "flights"]}) { ... on AssetNode {
    assetMaterializations(limit: 1) { metadataEntries { label ... on IntMetadataEntry { intValue } } }
    assetChecksOrError { ... on AssetChecks { checks { name executionForLatestMaterialization { status } } } }
} } }"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoProcess]:
    """Yield a demo on a new home: killed while the first wave's runs are under way, run again, and kept running.

    The kill comes this early because all that the first demo does costs twice: the second one sends it again.
    """
    home = tmp_path_factory.mktemp("demo") / "home"
    with DemoProcess(home, "--short") as interrupted:
        interrupted.wait_for("Wave 1, events become tables", _SETTLED)
        # The lines about progress come too seldom to show a run.
        assert eventually(lambda: any(home.glob("dagster/run_locks/*")), 120), interrupted.output
        interrupted.kill()
    with DemoProcess(home, "--short", "--keep") as again:
        again.report(_SETTLED)
        again.wait_for("Open next", 30)
        yield again


@pytest.fixture(scope="module")
def report(demo: DemoProcess) -> dict[str, Any]:
    return demo.report(1)


@pytest.fixture(scope="module")
def page(demo: DemoProcess) -> Iterator[Page]:
    chromium = next(path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name)))
    quiet = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=quiet)
        page = browser.new_page(viewport={"width": 1600, "height": 1000}, device_scale_factor=1)
        page.set_default_timeout(60_000)
        yield page
        browser.close()


@pytest.fixture(scope="module")
def ui(demo: DemoProcess) -> str:
    return demo.wait_for(r"Dagster UI (http://127\.0\.0\.1:\d+)", 5).group(1)


def assert_every_count_is_right(report: dict[str, Any]) -> None:
    assert report["problems"] == []
    assert report["ok"] is True
    assert report["events_sent"] == report["events_accounted"] > 100
    assert {table["name"] for table in report["tables"]} == {
        "bronze.flights", "silver.flights", "bronze.weather", "silver.weather", "bronze.planes", "bronze.airports",
        "bronze.airlines", "bronze.delays", "bronze.fleet",
    }  # fmt: skip
    assert list(report["redriven"]) == ["fleet/incomplete.csv"]
    assert all(table["rows"] == table["expected_rows"] > 0 for table in report["tables"])
    assert all(table["freshness_seconds"] > 0 for table in report["tables"])


def test_a_demo_that_was_interrupted_and_run_again_has_every_count_right(report: dict[str, Any]) -> None:
    """The killed demo had sent its first wave, and its tables had a part of that. Then that wave is sent again.

    No row is duplicated. What a demo sends again after its end is in `test_uploader.py`.
    """
    assert_every_count_is_right(report)
    assert report["duplicates"] > 100


@pytest.mark.usefixtures("report")
def test_the_demo_ends_with_the_stories_of_two_keys(demo: DemoProcess) -> None:
    """`why` of a flight that was deleted and came late, and the history of a reading that was deleted and came back."""
    answers = demo.output.split("One flight: tidegate why silver.flights", 1)[1]
    flight, reading = answers.split("One reading: silver.weather is a history", 1)
    assert {"tombstone", "older"} <= set(flight.split())
    assert re.findall(r" 2013-.*\b(True|False)\b", reading) == ["False", "True"]


def test_the_lineage_is_drawn_from_bucket_to_silver(page: Page, ui: str, tmp_path: Path) -> None:
    groups = ",".join(f"global@global:{name}" for name in ("sources", "bronze", "silver"))
    page.goto(f"{ui}/asset-groups?expanded={groups}")
    names = {"tidegate-landing", "tidegate-events", "bronze", "flights", "weather"}
    wanted = {
        ("tidegate-landing", "tidegate-events"), ("tidegate-events", "bronze"), ("bronze", "flights"),
        ("bronze", "weather"), ("flights", "flights"), ("weather", "weather"),
    }  # fmt: skip
    for _ in range(60):
        if (edges := drawn_edges(page, names)) == wanted:
            break
        page.wait_for_timeout(500)
    assert edges == wanted
    page.screenshot(path=tmp_path / "lineage.png")
    assert (tmp_path / "lineage.png").stat().st_size > 20_000


def test_a_partition_shows_what_its_run_did_and_links_to_the_page_of_its_table(
    page: Page, ui: str, report: dict[str, Any]
) -> None:
    table = next(table for table in report["tables"] if table["name"] == "bronze.flights")
    page.goto(f"{ui}/assets/bronze?view=partitions&partition={BRONZE_FLIGHTS}")
    page.get_by_text("delta_version").first.wait_for()
    text = page.inner_text("body")
    shown = int(re.search(r"^delta_version\s+([\d,]+)", text, re.M).group(1).replace(",", ""))  # type: ignore[union-attr]
    # The last commit may be that of a run that only found bad files again, which leaves the partition unchanged.
    assert 0 < shown <= table["delta_version"]
    assert "dagster/partition_row_count" not in text
    page.locator("a[href$='/assets/bronze/flights']").first.click()
    page.get_by_text("SELECT * FROM bronze.flights LIMIT 100").wait_for()


def test_a_table_has_a_page_of_its_own(page: Page, ui: str, report: dict[str, Any]) -> None:
    table = next(table for table in report["tables"] if table["name"] == "bronze.flights")
    page.goto(f"{ui}/assets/bronze/flights?view=overview")
    page.get_by_text("team:operations").or_(page.get_by_text("operations", exact=True)).first.wait_for()
    answer = page.request.post(f"{ui}/graphql", data={"query": _PAGE})
    shown = answer.json()["data"]["assetNodeOrError"]
    (materialization,) = shown["assetMaterializations"]
    rows = {entry["label"]: entry.get("intValue") for entry in materialization["metadataEntries"]}
    assert rows["dagster/row_count"] == table["rows"]
    assert rows["live_files"] == table["files"]
    checks = {
        check["name"]: check["executionForLatestMaterialization"] for check in shown["assetChecksOrError"]["checks"]
    }
    assert set(checks) == {"write_once_keys", "nothing_quarantined", "schema_unchanged", "keeps_up"}
    assert checks["schema_unchanged"]["status"] == "SUCCEEDED"


def test_a_partition_is_listed_by_a_click_and_the_overview_is_read(page: Page, ui: str) -> None:
    """No event was lost, so the listing finds no difference from the ledger. Then nothing waits for any table."""
    page.goto(f"{ui}/assets/bronze?view=partitions&partition={BRONZE_AIRPORTS}")
    page.get_by_role("button", name="Materialize").first.click()
    page.get_by_role("button", name="Launch 1 run").click()
    # The notice of the launch has a link to the run.
    page.get_by_role("link", name="View", exact=True).click()
    page.get_by_text("Success", exact=True).first.wait_for()
    page.get_by_text(re.compile(r"listing s3://\S+/airports/: 2 objects \(all\), 0 keys differ")).wait_for()
    page.goto(f"{ui}/assets/lake_health")
    page.get_by_role("button", name="Materialize").first.click()
    page.get_by_text(re.compile(r"UTC: no table is behind")).locator("..").get_by_text(" 0 files (0 B) wait").wait_for()
    names = {"flights", "weather", "planes", "airports", "airlines", "delays", "fleet", "tidegate-events"}
    rows = {text.split("\t")[0] for text in page.inner_text("body").splitlines() if "\t" in text}
    assert names <= rows
    page.get_by_role("button", name="Plots").or_(page.get_by_text("Plots", exact=True)).first.click()
    page.get_by_text("pending_files").first.wait_for()


def test_a_silver_table_is_rebuilt_by_clicks(page: Page, ui: str) -> None:
    """The next test compares its rows with the oracle."""
    page.goto(f"{ui}/locations/tidegate/jobs/rebuild")
    page.get_by_role("tab", name="Launchpad").or_(page.get_by_role("link", name="Launchpad")).first.click()
    page.locator(".CodeMirror").first.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("ops: {rebuild_op: {config: {table: silver.flights, dry_run: false}}}")
    page.get_by_role("button", name="Launch Run").click()
    page.get_by_text("Success", exact=True).first.wait_for(timeout=180_000)
    page.get_by_text("silver.flights is computed again from bronze").first.wait_for()
    page.get_by_text(re.compile(r"logged as s3://\S+/operations/")).first.wait_for()


def test_a_dropped_file_and_a_doubled_row_are_seen(
    demo: DemoProcess, are_gone: Callable[[Mapping[int, str]], bool]
) -> None:
    """The last test, because it damages the tables. A report of them must show the damage."""
    settings = Settings.from_environ(json.loads((demo.home / "stack.json").read_text())["environ"])
    with isolated_session(settings.spark) as spark:
        dropped = _spoil(spark)
    with settings.open_lake() as lake, dg.DagsterInstance.from_config(str(demo.home / "dagster")) as instance:
        accounts = read_accounts(lake)
        expected = run_oracle(demo.home / "producers")
        spoiled = build_report(lake, instance, expected, accounts, accounts, sent=0, started=time.time())
    everything = {pid: born(pid) for pid in demo.below()}
    assert demo.end(deadline=120) == 0  # its own report was right
    assert len(everything) >= 10  # AWS, Spark, code server, daemon and UI, each with its guard
    assert are_gone(everything)
    assert spoiled.ok is False
    wrong = {problem.split(":")[0] for problem in spoiled.problems}
    assert wrong == {"bronze.flights", "bronze.airlines"}
    assert any("files, must be" in problem for problem in spoiled.problems)
    off = {table["name"]: table["rows"] - table["expected_rows"] for table in spoiled.tables}
    assert {name: rows for name, rows in off.items() if rows} == {"bronze.flights": -dropped, "bronze.airlines": 1}


def _spoil(spark: SparkSession) -> int:
    """Drop a file and duplicate a row. Returns the rows of the dropped file."""
    (dropped,) = spark.sql("SELECT count(*) FROM bronze.flights WHERE month = 5 AND day = 5").collect()[0]
    spark.sql("DELETE FROM bronze.flights WHERE month = 5 AND day = 5").collect()
    spark.sql("INSERT INTO bronze.airlines SELECT * FROM bronze.airlines LIMIT 1").collect()
    return int(dropped)
