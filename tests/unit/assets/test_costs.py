"""The asset `lake_costs`: which lakes have it, when it is made, and what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from tests.unit.conftest import PAPER
from tidegate.assets.costs import costs_metadata, page_metadata
from tidegate.platform.core.config.lake import CostsSpec
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.costs.figures import FIGURES
from tidegate.platform.core.costs.replay import Timing
from tidegate.platform.core.costs.table_cost import LakeCosts, MonthCost, Remedy, TableReport, most_expensive_first
from tidegate.platform.core.costs.usage import Usage
from tidegate.platform.definitions import build_definitions
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource


def definitions(tmp_path: Path, **lake: Any) -> dg.Definitions:
    path = tmp_path / "lake.yaml"
    path.write_text(yaml.safe_dump({**PAPER, **lake}))
    resource = LakeResource(lake_yaml=str(path), spark_remote="sc://127.0.0.1:1", aws=AwsResource())
    return build_definitions(load_lake(path), resource)


def test_a_lake_has_the_report_and_its_schedule_if_lake_yaml_has_costs(tmp_path: Path) -> None:
    keys = definitions(tmp_path).resolve_asset_graph().get_all_asset_keys()
    assert dg.AssetKey(["lake_costs"]) not in keys
    found = definitions(tmp_path, costs={"schedule": "15 7 * * *"})
    schedule = found.resolve_schedule_def("lake_costs_schedule")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("15 7 * * *", "UTC")
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING
    job = found.resolve_job_def("lake_costs_job")
    assert job.asset_layer.executable_asset_keys == {dg.AssetKey(["lake_costs"])}


def report(table: str, dollars: float, remedy: Remedy | None = None) -> TableReport:
    months = [
        MonthCost(month, {**storage, "compute": cost}, Usage(), 10, 0, 20, 300, 1.0)
        for month, cost, storage in (("2026-11", dollars, {"storage": 0.5}), ("2026-10", 2 * dollars, {}))
    ]
    return TableReport(table, f"landing.{table}", Timing(30), months, remedy)


def test_the_page_shows_tables_by_cost_with_their_months_and_remedies() -> None:
    remedy = Remedy(Timing(300), 1.5, 0.25, 1, 0)
    tables = most_expensive_first([report("a", 1.0), report("b", 2.0, remedy), report("c", 1.0)])
    assert [table.table for table in tables] == ["b", "a", "c"]
    found = costs_metadata(LakeCosts(tables), FIGURES, CostsSpec())
    assert found["cost_of_month"] == pytest.approx(4.0 + 3 * 0.5)
    lines = [record.data for record in found["by_table_and_month"].records]
    assert [(line["table"], line["month"], line["all $"], line["storage $"]) for line in lines[:2]] == [
        ("b", "2026-11", 2.5, 0.5),
        ("b", "2026-10", 4.0, 0.0),
    ]
    (line,) = (record.data for record in found["remedies"].records)
    text = "window 300 instead of 30: 25% of the cost, 1.50 dollars of the month less"
    assert line == {"table": "b", "remedy": text, "saved $ a month": 1.5}
    units = {record.data["figure"]: record.data for record in found["figures"].records}
    assert units.keys() == set(FIGURES)
    assert units["sqs_request"] == {"figure": "sqs_request", **FIGURES.find("sqs_request").to_json(), "value": "4e-07"}
    few = costs_metadata(LakeCosts([report("a", 1.0)]), FIGURES, CostsSpec())
    assert not {"remedies", "more", "more_remedies", "more_pages", "not_read"} & few.keys()


def test_the_page_says_what_it_left_out() -> None:
    tables = [report(f"t{n}", 1.0, Remedy(Timing(300), 1.5, 0.25, 1, 0)) for n in range(205)]
    costs = LakeCosts(tables, {"landing.bad": "s3://lake/tables/landing.bad.json is not a birth record"})
    found = costs_metadata(costs, FIGURES, CostsSpec(), 3)
    assert (len(found["by_table_and_month"].records), found["more"]) == (200, 210)
    assert (len(found["remedies"].records), found["more_remedies"], found["more_pages"]) == (200, 5, 3)
    assert found["not_read"].value == (
        "- landing.bad is not in the costs, because it cannot be read: "
        "`s3://lake/tables/landing.bad.json` is not a birth record"
    )


def test_the_page_of_a_table_shows_its_own_months_and_its_remedy() -> None:
    found = page_metadata(report("a", 1.0))
    assert found["cost_of_month"] == 1.5
    assert len(found["cost_by_month"].records) == 2
    assert found["cost_remedy"].startswith("none: ")
