"""The asset that finds incomplete multipart uploads in the buckets of a table of inventories."""

from typing import Any

import dagster as dg

from tidegate.assets.inventory.report_asset import report_asset, report_command
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.markdown import list_lines, shown_lines
from tidegate.platform.core.config.inventories import StorageReportsSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.storage.prices import GIGABYTE, StoragePrices
from tidegate.platform.core.storage.uploads import BucketUploads, UploadsReport, uploads_cost
from tidegate.platform.inventory.incomplete_uploads import inventoried_buckets, uploads_report
from tidegate.platform.inventory.stored_objects import folder_of, read_prices
from tidegate.platform.lake.aws.multipart_uploads import MultipartUploads
from tidegate.resources.lake_resource import LakeResource

#: Age from which on an upload is a finding. No upload takes a week.
DAYS = 7


def build_uploads(names: LakeNames, spec: TableSpec, reports: StorageReportsSpec) -> dg.AssetsDefinition:
    """Build the audit of incomplete uploads in the buckets of a table of inventories."""

    @report_asset(
        names,
        spec,
        "uploads",
        "Incomplete multipart uploads, which are billed and in no inventory, what they cost, and the lifecycle rule "
        "that removes them.",
    )
    def uploads(lake: LakeResource) -> dg.MaterializeResult[Any]:
        prices = read_prices(folder_of(lake.lake_yaml) / path for path in reports.prices)
        buckets = inventoried_buckets(lake.open(spec.table_key.encode()), spec.table_key.encode())
        found = uploads_report(MultipartUploads(lake.settings.aws.client("s3")), buckets, DAYS)
        command = report_command("uploads", spec, reports, days=DAYS)
        return dg.MaterializeResult(metadata=uploads_metadata(found, prices, command))

    return uploads


def uploads_metadata(report: UploadsReport, prices: StoragePrices, command: str) -> dict[str, Any]:
    """Return incomplete uploads as metadata.

    Args:
        prices: of the region.
        command: prints them.
    """

    def record(uploads: BucketUploads) -> dict[str, Any]:
        return {
            "bucket": uploads.bucket,
            "uploads": uploads.old,
            "GiB": round(uploads.size / GIGABYTE, 3),
            f"{prices.currency} a month": round(uploads_cost(uploads.oldest, prices)[0], 4),
            "oldest": f"{uploads.oldest[0].initiated:%Y-%m-%d}",
            "rule": ""
            if uploads.lifecycle.aborts(report.days)
            else uploads.lifecycle.command(uploads.bucket, report.days),
        }

    refused = [f"{bucket}: {reason}" for bucket, reason in report.refused.items()]
    return {
        "uploads": sum(uploads.old for uploads in report.found),
        "bytes": sum(uploads.size for uploads in report.found),
        "cost_a_month": round(sum(uploads_cost(uploads.oldest, prices)[0] for uploads in report.found), 4),
        "currency": prices.currency,
        "buckets_without_rule": len(report.without_rule),
        **({"not_listed": list_lines(refused)} if refused else {}),
        **shown_lines("by_bucket", report.found, record, command),
    }
