"""`tidegate inventory uploads` prints the incomplete multipart uploads of the buckets of a table of inventories."""

from __future__ import annotations

from rich.console import Console

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.inventory import BucketOfUploads, RefusedBucket, UploadsAnswer
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.prices import GIGABYTE, StoragePrices
from tidegate.platform.core.storage.uploads import BucketUploads, UploadsReport, uploads_cost
from tidegate.platform.inventory.incomplete_uploads import inventoried_buckets, uploads_report
from tidegate.platform.lake.aws.multipart_uploads import MultipartUploads
from tidegate.platform.lake.lake import Lake
from tidegate.platform.query.table_lookup import table_named


def report_of(lake: Lake, name: str, uploads: MultipartUploads, days: int) -> UploadsReport:
    """Return the incomplete uploads of the buckets of a table, or raises CommandError.

    Args:
        name: SQL name, key or `s3://` prefix of the table of inventories.
        uploads: lists them.
        days: age from which on an upload counts as old.
    """
    try:
        return uploads_report(uploads, inventoried_buckets(lake, table_named(lake, name)), days)
    except InventoryError as error:
        raise CommandError(str(error)) from None


def print_uploads(
    console: Console, report: UploadsReport, prices: StoragePrices | None, limit: int, *, as_json: bool = False
) -> None:
    """Print incomplete uploads, the bucket with the most bytes first.

    Args:
        prices: of the region. None: costs are not shown.
        limit: maximum number of buckets.
        as_json: print only one JSON object.
    """
    answer = UploadsAnswer(
        days=report.days,
        buckets=tuple(_bucket(uploads, prices, report.days) for uploads in report.found[:limit]),
        more=max(0, len(report.found) - limit),
        currency=prices.currency if prices else None,
        without_rule=tuple(report.without_rule),
        refused=tuple(RefusedBucket(bucket=name, reason=reason) for name, reason in report.refused.items()),
    )
    if as_json:
        print_answer(console, answer)
    else:
        _print(console, answer)


def _bucket(uploads: BucketUploads, prices: StoragePrices | None, days: int) -> BucketOfUploads:
    return BucketOfUploads(
        bucket=uploads.bucket,
        uploads=uploads.old,
        parts=uploads.parts,
        bytes=uploads.size,
        uploads_without_size=uploads.unsized,
        younger=uploads.young,
        oldest=uploads.oldest[0].initiated,
        example=uploads.oldest[0].key,
        cost_a_month=uploads_cost(uploads.oldest, prices)[0] if prices else None,
        command=None if uploads.lifecycle.aborts(days) else uploads.lifecycle.command(uploads.bucket, days),
    )


def _print(console: Console, answer: UploadsAnswer) -> None:
    for bucket_of_uploads in answer.buckets:
        cost = (
            ""
            if bucket_of_uploads.cost_a_month is None
            else f", {bucket_of_uploads.cost_a_month:,.4f} {answer.currency} a month"
        )
        least = "at least " if bucket_of_uploads.uploads_without_size else ""
        console.out(
            f"{bucket_of_uploads.bucket}: {bucket_of_uploads.uploads:,} uploads of {answer.days} days and more, "
            f"{bucket_of_uploads.parts:,} parts, {least}{bucket_of_uploads.bytes / GIGABYTE:,.3f} GiB{cost}; the "
            f"oldest began on {bucket_of_uploads.oldest:%Y-%m-%d}: {bucket_of_uploads.example}",
            highlight=False,
        )
        if bucket_of_uploads.command:
            console.out(
                f"  no rule removes them within {answer.days} days: {bucket_of_uploads.command}", highlight=False
            )
    if answer.more:
        console.print(f"and {answer.more} more buckets: --limit shows more")
    if not answer.buckets:
        console.print(f"no incomplete upload is {answer.days} days old or older")
    if answer.without_rule:
        console.print(
            f"{len(answer.without_rule):,} buckets have no lifecycle rule that removes incomplete uploads within "
            f"{answer.days} days, such as {answer.without_rule[0]}"
        )
    for refused in answer.refused:
        console.out(f"WARNING: {refused.bucket}: {refused.reason}", highlight=False)
