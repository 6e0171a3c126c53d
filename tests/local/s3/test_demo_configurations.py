"""What the demo of storage shows of `tidegate inventory enable`, with the commands as processes and moto's server."""

from __future__ import annotations

import shutil
from pathlib import Path

from tidegate.platform.demo.storage import storage_lake_file
from tidegate.platform.demo.storage.company import company
from tidegate.platform.demo.storage.configurations import configure
from tidegate.platform.demo.storage.findings import compare_configurations, write_prices
from tidegate.platform.demo.storage.report import StorageReport


def test_the_demo_configures_ten_buckets_and_finds_the_three_that_somebody_changed(tmp_path: Path) -> None:
    shutil.copyfile(storage_lake_file(), tmp_path / "lake.yaml")
    write_prices(tmp_path / "prices.csv")
    buckets, report = company(91, 6), StorageReport(91, 6)
    compare_configurations(report, configure(tmp_path, buckets, "tidegate-landing"), buckets, "tidegate-landing")
    assert {figure.what.partition(": ")[2]: figure.found for figure in report.figures} == {
        "buckets configured": "10",
        "others as before": "81",
        "S3 may deliver": "yes",
        "changed by somebody": "catalog-050, catalog-090, logistics-020",
    }
    assert report.ok
