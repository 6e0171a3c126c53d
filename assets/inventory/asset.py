"""The assets that report on the objects in tables of inventories."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from tidegate.assets.inventory.advice import build_advice
from tidegate.assets.inventory.audit import build_audit
from tidegate.assets.inventory.growth import build_growth
from tidegate.assets.inventory.report_asset import report_asset, report_command
from tidegate.assets.inventory.uploads import build_uploads
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.markdown import list_lines, markdown, shown_lines
from tidegate.assets.presentation.plot import bars
from tidegate.platform.core.config.inventories import StorageReportsSpec
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.inventory.late_buckets import stale_inventories
from tidegate.platform.core.storage.cost import COMBINED_PREFIXES, OF, CostLine, CostReport
from tidegate.platform.core.storage.prices import GIGABYTE
from tidegate.platform.inventory.costs.reads import Reads, reads_of
from tidegate.platform.inventory.stored_objects import folder_of, read_prices, stored_objects, sums_of_all
from tidegate.platform.lake.inventory.objects import newest_creation_times
from tidegate.resources.lake_resource import LakeResource

#: Bars of a plot.
_MAX_BARS = 12


def build_storage(config: LakeConfig) -> list[dg.AssetsDefinition]:
    """Build the reports of a lake."""
    return [
        build(LakeNames.from_config(config), spec, spec.storage_reports)
        for spec in config.tables
        if spec.storage_reports
        for build in (_cost, build_growth, build_advice, build_audit, build_uploads)
    ]


def _cost(names: LakeNames, spec: TableSpec, reports: StorageReportsSpec) -> dg.AssetsDefinition:
    @report_asset(
        names,
        spec,
        "cost",
        "What the objects of all inventories cost a month, by bucket, prefix, storage class, age and size, "
        "at the prices of AWS's price list.",
    )
    def cost(lake: LakeResource) -> dg.MaterializeResult[Any]:
        opened = lake.open(spec.table_key.encode())
        prices = read_prices(folder_of(lake.lake_yaml) / path for path in reports.prices)
        objects = stored_objects(opened, spec.table_key.encode(), reports.configuration or "")
        sums, whole = sums_of_all(objects, OF, reports.depth)
        stale = stale_inventories(newest_creation_times(objects))
        reads = reads_of(opened, datetime.now(UTC), reports.depth)
        command = report_command("cost", spec, reports, depth=reports.depth)
        metadata = cost_metadata(CostReport.from_sums(sums, prices), reads, command, whole=whole)
        return dg.MaterializeResult(metadata={**metadata, **({"stale": list_lines(stale)} if stale else {})})

    return cost


def cost_metadata(report: CostReport, reads: Reads, command: str, *, whole: bool) -> dict[str, Any]:
    """Return a report of costs as metadata.

    Args:
        reads: files that runs read in the last thirty days.
        command: prints the report, and takes its dimensions with `--by`.
        whole: whether the prefixes of a bucket are lines of their own.
    """
    buckets = report.lines["bucket",][:_MAX_BARS]
    title = f"{report.currency} a month by bucket, at the prices of {report.effective}"
    return {
        "cost_a_month": round(report.cost, 4),
        "currency": report.currency,
        "prices_from": report.effective,
        "objects": report.objects,
        "bytes": report.size,
        "bytes_without_price": report.unpriced,
        **({"objects_without_fee": report.without_fee} if report.without_fee else {}),
        "plot": markdown(bars(title, [(line.group[0], line.cost, f"{line.cost:,.2f}") for line in buckets])),
        **{
            name: value
            for by, lines in report.lines.items()
            if whole or "prefix" not in by
            for name, value in _table(by, lines, report.currency, reads.reads_by(by), command).items()
        },
        **({} if whole else {"prefixes": COMBINED_PREFIXES}),
        **({"reads_not_known": reads.unknown} if reads.unknown else {}),
    }


def _table(
    by: Sequence[str], lines: Sequence[CostLine], currency: str, reads: Counter[Any] | None, command: str
) -> dict[str, Any]:
    def record(line: CostLine) -> dict[str, Any]:
        return {
            **dict(zip(by, line.group, strict=True)),
            "objects": line.objects,
            "GiB": round(line.size / GIGABYTE, 3),
            f"{currency} a month": round(line.cost, 4),
            **({} if reads is None else {"reads of 30 days": reads[line.group]}),
        }

    return shown_lines(f"by_{by[-1]}", lines, record, f"{command} --by {','.join(by)}")
