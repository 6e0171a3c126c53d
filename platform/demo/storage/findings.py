"""Reads the table of inventories and its reports, and compares them with the oracle."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tidegate.platform.demo.storage.company import CompanyBucket
from tidegate.platform.demo.storage.oracle import PRICES, expected
from tidegate.platform.demo.storage.report import StorageReport
from tidegate.resources.lake import Lake

#: Days between two points of the growth that are compared.
_EVERY = 5
_USAGE = {"STANDARD": "", "STANDARD_IA": "SIA-", "DEEP_ARCHIVE": "GDA-"}


def write_prices(path: Path) -> None:
    """Write the demo's price list, as AWS writes it: lines about the file, a header, and prices."""
    lines = ['"FormatVersion","v1.0"', '"Disclaimer","These prices are made for a demo."']
    lines.append("SKU,TermType,EffectiveDate,StartingRange,Unit,PricePerUnit,Currency,usageType")
    lines += [
        f"{name},OnDemand,2026-10-01,0,GB-Mo,{PRICES[name]},USD,TimedStorage-{usage}ByteHrs"
        for name, usage in _USAGE.items()
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def compare_table(report: StorageReport, lake: Lake, table: str, buckets: Sequence[CompanyBucket]) -> None:
    """Compare the rows and bytes of each bucket with those of its newest inventory."""
    wanted = expected(buckets, report.days - 1)
    rows = lake.delta.session.sql(f"SELECT bucket, count(*) AS rows, sum(size) AS size FROM {table} GROUP BY bucket")
    found = {row["bucket"]: (row["rows"], row["size"]) for row in rows.collect()}
    right = sum(found.get(name) == (wanted.rows[name], wanted.size[name]) for name in wanted.rows)
    report.compare("buckets with the rows and bytes of their newest inventory", len(wanted.rows), right)
    report.compare("rows of all buckets", sum(wanted.rows.values()), sum(rows for rows, _ in found.values()))
    report.compare("bytes of all buckets", sum(wanted.size.values()), sum(size for _, size in found.values()))


def compare_growth(
    report: StorageReport, lake: Lake, table: str, buckets: Sequence[CompanyBucket], versions: Mapping[int, int]
) -> None:
    """Compare the bytes of days of the past, by time travel to the version that the table had then."""
    days = [day for day in sorted(versions) if day % _EVERY == 0]
    query = " UNION ALL ".join(
        f"SELECT {day} AS day, sum(size) AS size FROM {table} VERSION AS OF {versions[day]}" for day in days
    )
    found = {row["day"]: row["size"] for row in lake.delta.session.sql(query).collect()}
    for day in days:
        report.compare(f"bytes on day {day + 1}", sum(expected(buckets, day).size.values()), found[day])


def compare_ledger(report: StorageReport, lake: Lake, ledger: str, wanted: Mapping[str, int]) -> None:
    """Compare what became of the deliveries of the last day that were not as they should be."""
    rows = lake.delta.session.sql(
        f"SELECT status, count(DISTINCT key) AS deliveries FROM {ledger} WHERE status != 'committed' GROUP BY status"
    )
    found = {row["status"]: row["deliveries"] for row in rows.collect()}
    for status, number in wanted.items():
        report.compare(f"deliveries in the ledger as {status}", number, found.get(status, 0))


def compare_cost(report: StorageReport, home: Path, prices: Path, buckets: Sequence[CompanyBucket]) -> None:
    """Compare the total of `tidegate inventory cost` with prices that are applied to one object after another."""
    command = [sys.executable, "-m", "tidegate.platform.cli.main", "inventory", "cost", "objects"]
    # Absolute, because the command runs in the home: a lake.yaml of the user's folder must not be found.
    command += ["--prices", str(prices.resolve()), "--by", "bucket,storage_class", "--home", str(home.resolve())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=home)
    total = re.search(r"total: ([\d,.]+) USD", done.stdout)
    wanted = sum(expected(buckets, report.days - 1).dollars.values())
    found = total[1] if total else (done.stderr.strip().splitlines() or ["no output"])[-1]
    report.compare("dollars a month, by `tidegate inventory cost`", f"{wanted:,.2f}", found)


def compare_late(report: StorageReport, shown: int | None, buckets: Sequence[CompanyBucket]) -> None:
    """Compare the number of late buckets on the page of the table."""
    report.compare("late buckets on the page of the table", len(expected(buckets, report.days - 1).late), shown)
