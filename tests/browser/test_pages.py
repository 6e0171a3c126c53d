"""The pages of tables in Dagster's UI, for a lake without running services: what runs reported is in the storage."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import dagster as dg
import pytest
import yaml
from playwright.sync_api import Page, sync_playwright

from tests.support.servers.child import ending_with_us
from tidegate.assets.bronze.previous_report import TableSnapshot
from tidegate.assets.bronze.report import TableReport
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import evaluation_event
from tidegate.assets.presentation.columns import column_schema
from tidegate.assets.presentation.plot import bars, curve
from tidegate.assets.silver.expectation_checks import expectation_results
from tidegate.assets.silver.report import columns_metadata
from tidegate.platform.bronze.run import BatchResult
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.lineage import column_sources
from tidegate.platform.core.silver.rules import merge_rules
from tidegate.platform.lake.spark.results import CommitResult

PAGE, SILVER = dg.AssetKey(["bronze", "orders"]), dg.AssetKey(["silver", "orders"])
ORDERS = "landing.orders"
EXPECTED = {"expect": {"has_state": "state IS NOT NULL"}, "expect_or_drop": {"positive": "id > 0"}}
LAKE = {
    "lake": {"root": "s3://lake/root"},
    "queues": [{"name": "events"}],
    "buckets": ["landing"],
    "costs": {},
    "tables": [
        {
            "name": "orders",
            "prefix": "s3://landing/orders/",
            "silver": {"keys": ["id"], "order": "at", "every": 10, "delete_when": "state = 'gone'", **EXPECTED},
        },
    ],
}
#: The lineage of the newest materialization.
LINEAGE = """{ assetNodeOrError(assetKey: {path: ["silver", "orders"]}) { ... on AssetNode {
    assetMaterializations(limit: 1) { metadataEntries { ... on TableColumnLineageMetadataEntry {
        lineage { columnName columnDeps { assetKey { path } columnName } } } } }
} } }"""
COLUMNS = {"id": "bigint", "at": "timestamp", "state": "string"}


def fields(*more: str) -> list[Field]:
    return [Field(name, simple_type(kind)) for name, kind in {**COLUMNS, **dict.fromkeys(more, "boolean")}.items()]


def reported(instance: dg.DagsterInstance) -> None:
    """Report a run of the table and a merge, as they do."""
    rules = merge_rules(SilverSpec.model_validate(LAKE["tables"][0]["silver"]), fields(), lambda *_: [])
    sources = column_sources(rules, list(COLUMNS))
    spec = LakeConfig.model_validate(LAKE).tables[0]
    bronze, silver = (TableSchema(tuple(fields(*more))) for more in ((), ("_deleted",)))
    for key, metadata in (
        (PAGE, {"dagster/column_schema": column_schema(bronze)}),
        (SILVER, columns_metadata(LakeNames(), spec, silver, sources)),
    ):
        instance.report_runless_asset_event(dg.AssetMaterialization(key, metadata=metadata))
    instance.add_dynamic_partitions(LakeNames().name("tables"), [f"landing.t{n:02d}" for n in range(29)] + [ORDERS])
    batch = Batch("lake", ORDERS, "g", 1, "s3a://x", -1, (), (LedgerRow("a.json", Status.COMMITTED, rows=2),))
    done = BatchResult(batch, CommitResult(0, "committed", "", None, False))
    made = TableReport([done], TableSnapshot("orders")).summary(PAGE)
    instance.report_runless_asset_event(dg.AssetMaterialization(LakeNames().bronze, partition=ORDERS, metadata=made))
    plot = bars("dollars of this month by table", [("orders", 2.0, "2.0000"), ("a_b*c", 1.0, "1.0000")])
    growth = curve("GiB of all buckets", date(2026, 11, 1), [float(day) for day in range(60)], [60.0, 70.0])
    costs = {"plot": dg.MetadataValue.md(plot), "growth": dg.MetadataValue.md(growth)}
    instance.report_runless_asset_event(dg.AssetMaterialization(LakeNames().lake_costs, metadata=costs))
    # Three rows of the merge violate an expectation.
    for result in expectation_results(spec, SILVER, {"has_state": 3}, rules.expectations):
        instance.report_runless_asset_event(evaluation_event(result))


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield Dagster's own web server, with the code location of the lake."""
    folder = tmp_path_factory.mktemp("ui")
    (folder / "lake.yaml").write_text(yaml.safe_dump(LAKE, sort_keys=False))
    home = folder / "dagster"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\nnux: {enabled: false}\n")
    with dg.DagsterInstance.from_config(str(home)) as instance:
        reported(instance)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "TIDEGATE_LAKE": str(folder / "lake.yaml"),
        "SPARK_REMOTE": "sc://127.0.0.1:1",
        "AWS_REGION": "us-east-1",
    }
    module = ("-m", "tidegate.platform.definitions")
    command = ending_with_us(
        sys.executable, "-m", "dagster_webserver", "-h", "127.0.0.1", "-p", str(port), *module, "--suppress-warnings"
    )
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log) as server,
    ):
        end = time.monotonic() + 120
        while True:
            try:
                with urlopen(f"http://127.0.0.1:{port}/server_info", timeout=5):
                    break
            except (URLError, OSError):
                assert server.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < end, (folder / "log").read_text()
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
        server.terminate()


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    chromium = next(path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name)))
    quiet = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=quiet)
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.set_default_timeout(60_000)
        yield page
        browser.close()


def test_column_lineage_is_seen_from_silver_to_bronze(page: Page, ui: str) -> None:
    page.goto(f"{ui}/assets/silver/orders?view=overview")
    row = page.get_by_role("row").filter(has_text="_deleted").first
    row.get_by_text("whether the key is deleted; from bronze.orders: state").wait_for()
    page.get_by_role("row").filter(has_text="bigint").get_by_text("from bronze.orders: id").wait_for()
    page.get_by_text("tidegate why silver.orders id=VALUE").wait_for()
    answer = page.request.post(f"{ui}/graphql", data={"query": LINEAGE}).json()
    (made,) = answer["data"]["assetNodeOrError"]["assetMaterializations"]
    (lineage,) = [entry["lineage"] for entry in made["metadataEntries"] if "lineage" in entry]
    assert {item["columnName"]: item["columnDeps"] for item in lineage}["_deleted"] == [
        {"assetKey": {"path": ["bronze", "orders"]}, "columnName": "state"}
    ]


def test_an_expectation_that_fails_is_seen_with_its_rows(page: Page, ui: str) -> None:
    page.goto(f"{ui}/assets/silver/orders?view=checks&checkDetail=expect_has_state")
    page.get_by_text("3 rows of the merged batches violate state IS NOT NULL").wait_for()
    page.get_by_text("Each changed row should fulfil: state IS NOT NULL. Rows that violate it are counted.").wait_for()
    # The query that shows the rows.
    page.get_by_text(re.compile(r"SELECT \* FROM bronze\.orders WHERE .*state IS NOT NULL")).wait_for()
    page.get_by_text("Failed", exact=True).first.wait_for()
    page.goto(f"{ui}/assets/silver/orders?view=checks&checkDetail=expect_positive")
    page.get_by_text("0 rows of the merged batches violate id > 0").wait_for()
    page.get_by_text("Passed", exact=True).first.wait_for()


def test_plots_are_seen_without_a_click(page: Page, ui: str) -> None:
    page.goto(f"{ui}/assets/lake_costs?view=overview")
    row = page.get_by_role("row").filter(has=page.get_by_text("orders", exact=True)).last
    row.get_by_text("█" * 20, exact=True).wait_for()
    page.get_by_role("row").filter(has_text="a_b*c").get_by_text("█" * 10, exact=True).first.wait_for()
    # An image that the browser cannot read has no width.
    page.wait_for_function("[...document.images].some(image => image.naturalWidth === 700)")
    assert page.get_by_text("[Show Markdown]").count() == 0


def test_a_table_has_a_page_without_a_partition(page: Page, ui: str) -> None:
    page.goto(f"{ui}/assets/bronze/orders?view=overview")
    page.get_by_text("SELECT * FROM bronze.orders LIMIT 100").wait_for()
    page.get_by_role("row").filter(has_text="timestamp").first.wait_for()
    page.get_by_text("bronze.orders", exact=True).first.wait_for()
    # Opens the line of the table in lake.yaml.
    link = page.get_by_role("link").filter(has_text="lake.yaml").get_attribute("href") or ""
    path, _, line = link.rpartition(":")
    assert path.endswith("/lake.yaml")
    text = Path(path.removeprefix("vscode://file")).read_text(encoding="utf-8")
    assert text.splitlines()[int(line) - 1] == "- name: orders"


def test_a_partition_links_to_the_page_of_its_table(page: Page, ui: str) -> None:
    page.goto(f"{ui}/assets/bronze?view=partitions&partition={ORDERS}")
    page.get_by_text("delta_version").or_(page.get_by_text("batches", exact=True)).first.wait_for()
    page.locator("a[href$='/assets/bronze/orders']").first.click()
    page.get_by_text("SELECT * FROM bronze.orders LIMIT 100").wait_for()


def test_a_backfill_of_many_tables_is_seen_to_make_few_runs(page: Page, ui: str) -> None:
    # One partition has a run of its own, and several are a backfill.
    page.goto(f"{ui}/assets/bronze?view=partitions&partition={ORDERS}")
    page.get_by_role("button", name="Materialize").first.click()
    page.get_by_role("button", name="Launch 1 run").wait_for()
    page.get_by_role("button", name="All", exact=True).first.click()
    page.get_by_text("Backfills in multiple runs, with a maximum of 25 partitions per run").first.wait_for()
    page.get_by_role("button", name="Launch backfill").wait_for()
