"""The asset that says how the objects of each bucket grow, and what they will be."""

from typing import Any

import dagster as dg

from tidegate.assets.inventory.report_asset import report_asset, report_command
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.markdown import markdown, shown_lines
from tidegate.assets.presentation.plot import curve
from tidegate.platform.core.config.inventories import StorageReportsSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.storage.growth import Growth
from tidegate.platform.core.storage.prices import GIGABYTE
from tidegate.platform.inventory.growth import KnownGrowth, growth_of
from tidegate.resources.lake_resource import LakeResource


def build_growth(names: LakeNames, spec: TableSpec, reports: StorageReportsSpec) -> dg.AssetsDefinition:
    """Build the growth of the objects in a table of inventories."""

    @report_asset(
        names,
        spec,
        "growth",
        "How the objects of each bucket grew in the versions of the table, a forecast, and the error that "
        "such forecasts had.",
    )
    def growth(lake: LakeResource) -> dg.MaterializeResult[Any]:
        months, configuration = reports.forecast_months, reports.configuration or ""
        found = growth_of(lake.open(spec.table_key.encode()), spec.table_key.encode(), months, configuration, keep=True)
        command = report_command("forecast", spec, reports, months=months)
        return dg.MaterializeResult(metadata=growth_metadata(found, months, command))

    return growth


def growth_metadata(found: KnownGrowth, months: int, command: str) -> dict[str, Any]:
    """Return growth as metadata.

    Args:
        months: number of months of the forecast.
        command: prints the report.
    """
    if not found.lines:
        return {"buckets": 0}
    total = found.lines[0]
    title = f"GiB of all buckets, and the forecast of {months} months"
    past, ahead = ([value / GIGABYTE for value in values] for values in (total.history, total.bytes.values))
    return {
        "buckets": len(found.lines) - 1,
        "bytes": int(total.history[-1]),
        "objects": total.objects,
        "remark": "; ".join(
            filter(None, [total.bytes.why_not or f"forecast by {total.bytes.method}", total.bytes.caution])
        ),
        **({"plot": markdown(curve(title, total.first, past, ahead))} if len(past) + len(ahead) > 1 else {}),
        **shown_lines("by_bucket", found.lines, lambda line: _record(line, months, total.bytes.caution), command),
        **({"known_from": found.lost} if found.lost else {}),
        **({"forecast_error": round(total.bytes.error, 4)} if total.bytes.error is not None else {}),
        **({"forecast_error_over_days": total.bytes.tested_days} if total.bytes.tested_days else {}),
        **({"bytes_forecast": int(total.bytes.values[-1])} if total.bytes.values else {}),
    }


def _record(line: Growth, months: int, known: str) -> dict[str, Any]:
    ahead = line.bytes
    return {
        "bucket": line.bucket,
        "days": len(line.history),
        "objects": line.objects,
        "GiB": round(line.history[-1] / GIGABYTE, 3),
        f"GiB in {months} months": round(ahead.values[-1] / GIGABYTE, 3) if ahead.values else None,
        "error": None if ahead.error is None else f"{ahead.error:.1%}",
        "of last value": None if ahead.naive_error is None else f"{ahead.naive_error:.1%}",
        "error over days": ahead.tested_days or None,
        "method": ahead.method or ahead.why_not,
        # A long text makes each line of the table as high as the page.
        "remark": "" if ahead.caution == known else ahead.caution,
    }
