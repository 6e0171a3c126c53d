"""The reports on storage in Dagster: which lakes have them, when they run, and what their pages show."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from tests.unit.conftest import PAPER
from tidegate.assets.inventory.advice import advice_metadata
from tidegate.assets.inventory.asset import cost_metadata
from tidegate.assets.inventory.audit import audit_metadata
from tidegate.assets.inventory.growth import growth_metadata
from tidegate.assets.inventory.uploads import uploads_metadata
from tidegate.platform.core.config.load import LakeConfigError, load_lake
from tidegate.platform.core.storage.advice import advice_for
from tidegate.platform.core.storage.audits import Audit, AuditFinding, AuditPlace, AuditReport
from tidegate.platform.core.storage.cost import CostReport, StoredSum
from tidegate.platform.core.storage.growth import StoredDay, growth
from tidegate.platform.core.storage.prices import GIGABYTE, StoragePrices
from tidegate.platform.core.storage.uploads import BucketUploads, Lifecycle, Upload, UploadsReport
from tidegate.platform.definitions import build_definitions
from tidegate.platform.inventory.costs.reads import Reads
from tidegate.platform.inventory.growth import KnownGrowth
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource

OBJECTS = {"name": "objects", "prefix": "s3://second/inventory/", "mode": "inventory"}
PRICES = StoragePrices("EUR", "2026-11-01", {"STANDARD": ((0.0, 2.0),)})
REPORTS = {"prices": ["prices/s3.csv"], "schedule": "15 7 * * 1"}


def definitions(tmp_path: Path, **table: Any) -> dg.Definitions:
    path = tmp_path / "lake.yaml"
    path.write_text(yaml.safe_dump({**PAPER, "tables": [*PAPER["tables"], {**OBJECTS, **table}]}))  # type: ignore[misc]
    resource = LakeResource(lake_yaml=str(path), spark_remote="sc://127.0.0.1:1", aws=AwsResource())
    return build_definitions(load_lake(path), resource)


def storage_keys(found: dg.Definitions) -> set[str]:
    keys = (key.to_user_string() for key in found.resolve_asset_graph().get_all_asset_keys())
    return {key for key in keys if key.startswith("storage/")}


def test_a_table_has_reports_and_their_schedule_if_lake_yaml_has_them(tmp_path: Path) -> None:
    assert storage_keys(definitions(tmp_path)) == set()
    found = definitions(tmp_path, storage_reports=REPORTS)
    assert storage_keys(found) == {
        f"storage/objects_{name}" for name in ("cost", "growth", "advice", "audit", "uploads")
    }
    schedule = found.resolve_schedule_def("storage_objects_schedule")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("15 7 * * 1", "UTC")
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING
    job = found.resolve_job_def("storage_objects_job")
    assert {key.to_user_string() for key in job.asset_layer.executable_asset_keys} == storage_keys(found)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"mode": "load", "format": "csv", "storage_reports": REPORTS}, "`storage_reports` needs `mode: inventory`"),
        ({"storage_reports": {"prices": []}}, "prices"),
        ({"storage_reports": {**REPORTS, "schedule": "daily"}}, "'daily' has 1 fields, a cron schedule has 5"),
    ],
)
def test_reports_that_cannot_be_are_refused(tmp_path: Path, table: dict[str, Any], says: str) -> None:
    with pytest.raises(LakeConfigError) as error:
        definitions(tmp_path, **table)
    assert says in str(error.value)


def test_the_page_shows_the_total_the_dearest_buckets_and_no_prefixes_that_were_put_together() -> None:
    sums = [
        StoredSum((f"b{number}", "x/", "STANDARD", "old", "small"), "STANDARD", 1, number << 30, number << 30, 0)
        for number in range(1, 31)
    ]
    report = CostReport.from_sums(sums, PRICES)
    reads = Reads(Counter({("b30", "x/"): 3, ("b30", "y/"): 4}))
    command = "tidegate inventory cost objects"
    found = cost_metadata(report, reads, command, whole=True)
    assert found["cost_a_month"] == pytest.approx(2.0 * sum(range(1, 31)))
    assert found["by_bucket"].records[0].data == {
        "bucket": "b30",
        "objects": 1,
        "GiB": 30.0,
        "EUR a month": 60.0,
        "reads of 30 days": 7,
    }
    assert found["by_prefix"].records[0].data["prefix"] == "x/"
    assert found["by_prefix"].records[0].data["reads of 30 days"] == 3
    assert "reads of 30 days" not in found["by_age"].records[0].data
    together = cost_metadata(report, Reads(), command, whole=False)
    assert ("by_prefix" in together, together["prefixes"]) == (False, "prefixes put together")
    assert not {"prefixes", "more_by_bucket"} & found.keys()
    unknown = cost_metadata(report, Reads(unknown="b cannot be read"), command, whole=True)
    assert unknown["reads_not_known"] == "b cannot be read"
    assert "reads of 30 days" not in unknown["by_bucket"].records[0].data
    assert found["bytes"] == sum(range(1, 31)) * GIGABYTE
    assert "objects_without_fee" not in found
    monitored = replace(sums[0], monitored=7)
    assert (
        cost_metadata(CostReport.from_sums([monitored], PRICES), reads, command, whole=True)["objects_without_fee"] == 7
    )


def test_the_page_of_growth_shows_the_forecast_and_its_error_only_if_there_is_one() -> None:
    days = [StoredDay("b", "all", date(2026, 1, 1) + timedelta(days=n), n, n << 30) for n in range(30)]
    found = growth_metadata(KnownGrowth(growth(days, 1), None), 1, "tidegate")
    assert (found["buckets"], found["bytes"], found["remark"]) == (1, 29 << 30, "forecast by drift")
    assert (found["forecast_error_over_days"], found["by_bucket"].records[0].data["error over days"]) == (10, 10)
    far = growth_metadata(KnownGrowth(growth(days, 3), None), 3, "tidegate")
    assert far["remark"].endswith("; the error is of 10 days ahead, and 90 days ahead it may be much larger")
    assert far["remark"].endswith(far["by_bucket"].records[1].data["remark"])
    assert found["bytes_forecast"] == pytest.approx(59 << 30)
    assert found["by_bucket"].records[1].data["GiB in 1 months"] == 59.0
    assert "known_from" not in found
    short = growth_metadata(KnownGrowth(growth(days[:3], 1), date(2026, 1, 1)), 1, "tidegate")
    assert short["known_from"].startswith("the history is known from 2026-01-01 on")
    assert short["remark"].startswith("3 days of history are too few")
    assert not {"bytes_forecast", "forecast_error"} & short.keys()
    assert growth_metadata(KnownGrowth([], None), 1, "tidegate") == {"buckets": 0}


def test_the_page_of_uploads_has_what_they_cost_and_the_rule_that_is_missing() -> None:
    prices = StoragePrices("EUR", "x", {"STANDARD": ((0.0, 2.0),)})
    began = datetime(2026, 1, 2, tzinfo=UTC)
    some = [Upload(f"k{n}", "u", began, "STANDARD", 1, n << 30) for n in (1, 2)]
    buckets = [BucketUploads("b", some, 2, 0, Lifecycle()), BucketUploads("c", [], 0, 3, Lifecycle())]
    found = uploads_metadata(UploadsReport.from_buckets(buckets, {"gone": "404"}, 7), prices, "tidegate")
    assert (found["uploads"], found["bytes"], found["cost_a_month"]) == (2, 3 << 30, 6.0)
    assert (found["buckets_without_rule"], found["not_listed"].value) == (2, "- gone: 404")
    (record,) = found["by_bucket"].records
    assert (record.data["GiB"], record.data["oldest"]) == (3.0, "2026-01-02")
    assert "put-bucket-lifecycle-configuration" in record.data["rule"]
    assert "by_bucket" not in uploads_metadata(UploadsReport.from_buckets([], {}, 7), prices, "tidegate")


def test_each_page_says_how_many_lines_it_leaves_out_and_which_command_prints_them() -> None:
    group = ("x/", "STANDARD", "under a year", "128 MiB and more")
    made = [StoredSum((f"b{n}", *group), "STANDARD", 9, 9 << 30, 9 << 30, 0) for n in range(150)]
    prices = StoragePrices("EUR", "x", {"STANDARD": ((0.0, 2.0),), "GLACIER_IR": ((0.0, 0.1),)}, {"GLACIER_IR": 0.0})
    cost = cost_metadata(CostReport.from_sums(made, prices), Reads(), "cost", whole=True)
    assert cost["more_by_bucket"] == "50 more lines: cost --by bucket --limit 150"
    assert cost["more_by_prefix"] == "50 more lines: cost --by bucket,prefix --limit 150"
    assert "more_by_age" not in cost
    days = [StoredDay(f"b{n}", "all", date(2026, 1, 1), 1, 1) for n in range(150)]
    assert growth_metadata(KnownGrowth(growth(days, 1), None), 1, "forecast")["more_by_bucket"] == (
        "51 more lines: forecast --limit 151"
    )
    advised = advice_for(
        [replace(stored_sum, group=(*stored_sum.group, "current", "stays")) for stored_sum in made], prices, 12
    )
    assert advice_metadata(advised, "EUR", 12, "advice")["more_transitions"] == "50 more lines: advice --limit 150"
    (first, *_) = advice_metadata(advised[:1], "EUR", 12, "advice")["transitions"].records
    # The amounts are in the columns that a page shows without scrolling.
    assert list(first.data)[:5] == ["objects of", "transition", "EUR saved a month", "EUR once", "break-even, months"]
    assert (first.data["objects of"], first.data["transition"]) == ("b0/x/", "STANDARD → GLACIER_IR")
    place = AuditPlace("b/x/", 1, 1, "s3://b/x/1", "s3://b/x/2")
    findings = [AuditFinding(Audit("outside", f"b{n}", "FROM x"), 1, 1, [place]) for n in range(150)]
    assert audit_metadata(AuditReport(findings, []), "audit")["more_audits"] == "50 more lines: audit --limit 150"
    upload = Upload("k", "u", datetime(2026, 1, 2, tzinfo=UTC), "STANDARD", 1, 5)
    buckets = [BucketUploads(f"b{n}", [upload], 1, 0, Lifecycle()) for n in range(150)]
    found = uploads_metadata(UploadsReport.from_buckets(buckets, {}, 7), prices, "uploads")
    assert (found["more_by_bucket"], found["uploads"]) == ("50 more lines: uploads --limit 150", 150)
