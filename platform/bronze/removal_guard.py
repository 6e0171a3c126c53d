"""A guard against removing most files of a registered table, or the rows of most files of a loaded one."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.manifest import comes_last, is_listed, tally_of
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.ledger import Clock

#: A batch stops if it removes at least this many files, and more than this share of the live files.
REMOVAL_FLOOR = 10
REMOVAL_SHARE = 0.5


def require_bucket(key: TableKey, table_key: str, source: Bucket) -> None:
    """Raise an error if a table's bucket does not exist. Its files then do not count as removed.

    Raises:
        StoreError: the bucket does not exist, or S3 did not answer.
    """
    if not source.exists():
        raise StoreError(
            f"the source bucket s3://{key.bucket} does not exist. No file of {table_key} is recorded "
            "as removed. Restore the bucket, or remove the table from lake.yaml"
        )


def guard_removals(
    table: Table, clock: Clock, birth: Birth, gone: int, waiting: Sequence[str], *, of_list: int = 0
) -> None:
    """Raise an error before most files of a table are removed, at once or batch by batch.

    Args:
        clock: of the ledger by which this batch was planned.
        birth: the birth of the table.
        gone: number of files that this batch would remove, or whose rows it would remove.
        waiting: ids of the manifests that wait behind this batch. Their removals count as well.
        of_list: number of these files that a list of objects named. If it is large, each further object that a list
            names may be gone, too.

    Raises:
        DataError: at least `REMOVAL_FLOOR` files, and more than `REMOVAL_SHARE` of the live ones, are gone.
    """
    if gone < REMOVAL_FLOOR:
        return
    # Hints of a rebuild or of a list report no removal, and there may be millions of them.
    reporting = [manifest_id for manifest_id in waiting if not comes_last(manifest_id)]
    behind = sum(hint.reports_removal for manifest in table.inbox.read(reporting) for hint in manifest.hints)
    if of_list >= REMOVAL_FLOOR:
        behind += sum(tally_of(manifest_id).hints for manifest_id in waiting if is_listed(manifest_id))
    if birth.registered:
        live, what = table.delta.table_state(birth.location).files, "live files"
    else:
        live, what = table.ledger.count_keys_with_rows(clock.version), "files with rows"
    if gone + behind > REMOVAL_SHARE * live:
        raise DataError(
            f"{gone + behind} of {live} {what} of bronze.{birth.name} are gone from S3, or were overwritten, at "
            "once. Nothing was changed. If this is intended, materialize the partition with the run tag "
            "tidegate/allow-removals=true"
        )
