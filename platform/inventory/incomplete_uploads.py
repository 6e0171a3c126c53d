"""What the audit of incomplete multipart uploads looks at: the buckets of a table of inventories."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.bronze.prepare.inventories.newest_deliveries import newest_deliveries
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.uploads import BucketUploads, UploadsReport, divide_uploads
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.multipart_uploads import MultipartUploads
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.threads import parallel

_GONE = "the bucket does not exist: `tidegate inventory drop-bucket` lets the rows of a deleted bucket leave the table"


def inventoried_buckets(lake: Lake, table_key: str) -> list[str]:
    """Return the buckets of which a table has inventories, by name. An empty bucket may have uploads, too.

    A bucket that was dropped is gone, and has none.

    Raises:
        InventoryError: it is not such a table, or has nothing yet.
    """
    table = lake.table(table_key)
    newest = newest_deliveries(table.key, table.ledger) if table.spec.has_inventories else {}
    if newest:
        return sorted({subject.bucket for subject, (last, *_) in newest.items() if not last.is_drop})
    raise InventoryError(f"{table.spec.name} has no inventories yet, or is not a table with `mode: inventory`")


def uploads_report(
    uploads: MultipartUploads, buckets: Iterable[str], days: int, now: datetime | None = None
) -> UploadsReport:
    """Return the incomplete uploads of some buckets. What S3 refuses hides no other bucket.

    Args:
        uploads: lists them.
        buckets: names of the buckets.
        days: age from which on an upload counts as old.
        now: the present time.
    """
    now = now or datetime.now(UTC)

    def look(bucket: str) -> BucketUploads | tuple[str, str]:
        try:
            oldest, old, young = divide_uploads(uploads.incomplete_uploads(bucket), days, now)
            sized = [found for upload in oldest if (found := uploads.with_parts(bucket, upload))]
            old -= len(oldest) - len(sized)  # those that were completed or aborted in the meantime
            return BucketUploads(bucket, sized, old, young, uploads.lifecycle(bucket))
        except (BotoCoreError, ClientError) as error:
            return bucket, _GONE if "(NoSuchBucket)" in str(error) else first_line(error)

    looked = list(parallel(look, buckets))
    refused = dict(uploads for uploads in looked if isinstance(uploads, tuple))
    return UploadsReport.from_buckets(
        (uploads for uploads in looked if isinstance(uploads, BucketUploads)), refused, days
    )
