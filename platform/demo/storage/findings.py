"""Reads the table of inventories, its reports and its catalog entry, and compares them with the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import dagster as dg

from tidegate.platform.demo.storage import oracle
from tidegate.platform.demo.storage.company import CompanyBucket
from tidegate.platform.demo.storage.configurations import Configured, team_configuration
from tidegate.platform.demo.storage.orphans import LEFT, YOUNG, Deleted, left_body
from tidegate.platform.demo.storage.planted_buckets import ORDERS, STEADY, STILL, loaded_orders, order_body
from tidegate.platform.demo.storage.report import StorageReport
from tidegate.platform.lake.lake import Lake

#: Days between two points of the past that are compared.
_EVERY = 10
_USAGE = {"STANDARD": "", "STANDARD_IA": "SIA-", "DEEP_ARCHIVE": "GDA-"}
#: Days that the growth's forecast has, as `forecast_months` of lake.yaml says.
_AHEAD = 90
#: Days of history that a forecast needs.
_KNOWN = 14
_ENGINES = 6


def write_prices(path: Path) -> None:
    """Write the demo's price list, as AWS writes it: lines about the file, a header, and prices."""
    lines = ['"FormatVersion","v1.0"', '"Disclaimer","These prices are made for a demo."']
    lines.append("SKU,TermType,EffectiveDate,StartingRange,Unit,PricePerUnit,Currency,usageType,operation")
    lines += [
        f"{name},OnDemand,2026-10-01,0,GB-Mo,{oracle.PRICES[name]},USD,TimedStorage-{usage}ByteHrs,"
        for name, usage in _USAGE.items()
    ]
    lines.append(f"MOVE,OnDemand,2026-10-01,0,Requests,{oracle.TRANSITION:f},USD,Requests-Tier4,S3-SIATransition")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def compare_table(report: StorageReport, lake: Lake, table: str, buckets: Sequence[CompanyBucket]) -> None:
    """Compare the rows and bytes of each bucket with those of its newest inventory."""
    wanted = oracle.expected_table(buckets, report.days - 1)
    rows = lake.delta.session.sql(f"SELECT bucket, count(*) AS rows, sum(size) AS size FROM {table} GROUP BY bucket")
    found = {row["bucket"]: (row["rows"], row["size"]) for row in rows.collect()}
    right = sum(found.get(name) == (wanted.rows[name], wanted.size[name]) for name in wanted.rows)
    report.compare("buckets as in the newest inventory", len(wanted.rows), right)
    report.compare("rows of all buckets", sum(wanted.rows.values()), sum(rows for rows, _ in found.values()))
    report.compare("bytes of all buckets", sum(wanted.size.values()), sum(size for _, size in found.values()))


def compare_past(
    report: StorageReport, lake: Lake, table: str, buckets: Sequence[CompanyBucket], versions: Mapping[int, int]
) -> None:
    """Compare the bytes of days of the past, by time travel to the version that the table had then."""
    days = [day for day in sorted(versions) if day % _EVERY == 0]
    query = " UNION ALL ".join(
        f"SELECT {day} AS day, sum(size) AS size FROM {table} VERSION AS OF {versions[day]}" for day in days
    )
    found = {row["day"]: row["size"] for row in lake.delta.session.sql(query).collect()}
    for day in days:
        wanted = sum(oracle.expected_table(buckets, day).size.values())
        report.compare(f"bytes on day {day + 1}, by VERSION AS OF", wanted, found[day])


def compare_ledger(report: StorageReport, lake: Lake, ledger: str, wanted: Mapping[str, int]) -> None:
    """Compare what became of the deliveries of the last day that were not as they should be."""
    rows = lake.delta.session.sql(
        f"SELECT status, count(DISTINCT key) AS deliveries FROM {ledger} WHERE status != 'committed' GROUP BY status"
    )
    found = {row["status"]: row["deliveries"] for row in rows.collect()}
    for status, number in wanted.items():
        report.compare(f"ledger: deliveries {status}", number, found.get(status, 0))


def compare_pages(report: StorageReport, instance: dg.DagsterInstance, buckets: Sequence[CompanyBucket]) -> None:
    """Compare what Dagster's pages of the table and of its reports show."""
    day = report.days - 1
    wanted = oracle.expected_table(buckets, day)
    late = _page(instance, "bronze", "objects").get("late_inventories")
    report.compare("late buckets", len(wanted.late), late)
    cost = _page(instance, "storage", "objects_cost")
    report.compare("cost: dollars a month", _money(wanted.dollars), _money(cost.get("cost_a_month")))
    growth = _page(instance, "storage", "objects_growth")
    objects = sum(wanted.objects.values())
    report.compare("growth: objects of all buckets", objects, growth.get("objects"))
    lines = {line["bucket"]: line for line in growth.get("by_bucket", ())}
    steady, still = (lines.get(buckets[number].name, {}) for number in (STEADY, STILL))
    ahead: float | None = oracle.steady_bucket_bytes(buckets[STEADY], day, _AHEAD) / oracle.GIB
    by = "last value"
    if report.days < _KNOWN:
        ahead, by = None, f"{report.days} days of history are too few: {_KNOWN} are needed"
    report.compare(f"forecast: GiB of {buckets[STEADY].name}", ahead, steady.get("GiB in 3 months"))
    report.compare(f"forecast: {buckets[STILL].name}, not changing", by, still.get("method"))
    advice, moves = _page(instance, "storage", "objects_advice"), oracle.advice(buckets, day)
    report.compare("advice: transitions that pay", len(moves), advice.get("advice"))
    report.compare("advice: dollars saved in a year", _money(sum(moves)), _money(advice.get("net_saving")))
    uploads, without = (
        _page(instance, "storage", "objects_uploads"),
        sum(not bucket.aborts_uploads for bucket in buckets),
    )
    report.compare("uploads: buckets without a rule", without, uploads.get("buckets_without_rule"))
    found = _page(instance, "storage", "objects_audit")
    for kind, objects in oracle.audits(buckets, day, buckets[ORDERS], loaded_orders()).items():
        report.compare(f"audit: objects {kind}", objects, found.get(kind))


def compare_configurations(report: StorageReport, found: Configured, buckets: Sequence[CompanyBucket], to: str) -> None:
    """Compare what `tidegate inventory enable` wrote, and what it finds after somebody changed configurations."""
    enabled, right, kept = [bucket for bucket in buckets if bucket.daily], 0, 0
    for bucket in buckets:
        now = found.configurations.get(bucket.name, [])
        if bucket in enabled:
            right += len(now) == 1 and oracle.is_daily_inventory(now[0], to)
        else:
            kept += now == [team_configuration(to)]
    report.compare("inventory enable: buckets configured", len(enabled), found.error or right)
    report.compare("inventory enable: others as before", len(buckets) - len(enabled), kept)
    report.compare("inventory enable: S3 may deliver", "yes", "yes" if oracle.may_deliver(found.policy, to) else "no")
    stopped = sorted(bucket.name for bucket in buckets if bucket.stops is not None)
    changes = found.drift["changes"] if isinstance(found.drift, dict) else []
    changed = ", ".join(change["of"].removeprefix("inventory daily of ") for change in changes)
    report.compare("inventory enable: changed by somebody", ", ".join(stopped), changed or found.drift)


def compare_left_over(report: StorageReport, found: Deleted) -> None:
    """Compare what VACUUM deleted with the help of an inventory of the lake's bucket. A later file stays."""
    looked, _, _ = found.source.partition(" of ")
    report.compare("VACUUM: files are looked for", "from the inventory", looked)
    report.compare("VACUUM: files of runs that died", LEFT, found.files)
    report.compare("VACUUM: bytes", sum(len(left_body(number)) for number in range(LEFT)), found.bytes)
    report.compare("VACUUM: what came after the inventory", YOUNG, ", ".join(found.remaining))


def compare_cost(report: StorageReport, answer: Any, buckets: Sequence[CompanyBucket]) -> None:
    """Compare the total of `tidegate inventory cost` with prices that are applied to one object after another."""
    wanted = oracle.expected_table(buckets, report.days - 1).dollars
    report.compare("inventory cost: dollars a month", _money(wanted), _money(_part(answer, "cost_a_month")))


def compare_table_cost(report: StorageReport, answer: Any) -> None:
    """Compare what `tidegate cost` counts of the table of orders, of which its dollars are computed."""
    tables = answer["tables"] if isinstance(answer, dict) else ()
    months = [month for table in tables if table["table"] == "orders" for month in table["months"]]
    bodies = [len(order_body(key)) for key in loaded_orders()]
    for what, wanted in {"files": len(bodies), "bytes": sum(bodies)}.items():
        found = sum(month[what] for month in months) if months else answer
        report.compare(f"tidegate cost: {what} of orders", wanted, found)


def compare_manifest(report: StorageReport, answer: Any, body: bytes, bucket: CompanyBucket) -> None:
    """Compare the manifest of the objects that are not encrypted, all of which are in one bucket.

    Args:
        report: takes the figures.
        answer: what `tidegate inventory manifest` printed.
        body: what S3 has at the address of the manifest.
    """
    wanted = oracle.manifest(bucket, report.days - 1)
    right = len(set(wanted.splitlines()) & set(body.splitlines())) if wanted == body else "other lines"
    report.compare("manifest for a batch job: lines", len(wanted.splitlines()), right)
    manifests = answer["manifests"] if isinstance(answer, dict) else []
    etags = ", ".join(manifest["etag"] for manifest in manifests) or answer
    report.compare("manifest for a batch job: ETag", oracle.md5(wanted), etags)


def compare_catalog(report: StorageReport, answer: Any, entry: Mapping[str, Any] | None, columns: Set[str]) -> None:
    """Compare the table's entry in the Glue Data Catalog, and the engines that can read the table.

    Args:
        report: takes the figures.
        answer: what `tidegate catalog readers` printed.
        entry: the entry, as Glue has it. None if it has none.
        columns: what the files of the inventories have.
    """
    listed = (*entry["StorageDescriptor"]["Columns"], *entry["PartitionKeys"]) if entry else ()
    found = {column["Name"] for column in listed}
    report.compare("Glue Data Catalog: columns", len(columns), len(columns & found))
    tables = answer["tables"] if isinstance(answer, dict) else ()
    engines = [
        each for table in tables if table["table"] == "bronze.objects" for each in table["readers"] if each["reads"]
    ]
    report.compare(
        "engines that read the table",
        _ENGINES,
        len(engines) if tables else answer,
    )


def _part(answer: Any, name: str) -> Any:
    return answer.get(name) if isinstance(answer, dict) else answer


def _page(instance: dg.DagsterInstance, *key: str) -> dict[str, Any]:
    """Return what the newest materialization of an asset shows. Empty if there is none."""
    event = instance.get_latest_materialization_event(dg.AssetKey(key))
    shown = event.asset_materialization.metadata if event and event.asset_materialization else {}
    return {
        name: [record.data for record in value.records] if isinstance(value, dg.TableMetadataValue) else value.value
        for name, value in shown.items()
    }


def _money(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, int | float) else str(value)
