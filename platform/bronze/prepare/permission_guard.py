"""A guard against a permission that is missing for a whole table: no file is at fault, and no hint is used up."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.core.bronze.object_state import S3Found, S3Gone
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake import Table

#: Objects that are listed, and those of them that are read, to find one to which S3 gives access.
_LISTED, _READ = 1_000, 5


def require_access(table: Table, denied: Mapping[str, str]) -> None:
    """Raise an error if S3 denies access to every object of a table. The hints then stay in the inbox.

    A policy or a key of KMS that is wrong for ten minutes must not put the inbox into quarantine. So a denial is a
    file's own only if S3 gives another object of the table at the same time.

    Args:
        denied: what S3 says, by key: of all objects for which the run asked.

    Raises:
        StoreError: S3 gives no object of the table.
    """
    if not denied or _another_answers(table.key, table.source, denied):
        return
    key, why = next(iter(denied.items()))
    raise StoreError(
        f"S3 denies access to all {len(denied)} objects of {table.table_key} that the run asked for, and to others "
        f"that it tried: {S3Address(table.key.bucket, key)}: {why}. Give Dagster's role what `tidegate policy dagster` "
        "prints, and the use of the objects' KMS key. No file is at fault, and all hints wait in the inbox. If only "
        "this object is refused, delete it, or put another object below the prefix: then it is quarantined"
    )


def _another_answers(table: TableKey, source: Bucket, denied: Mapping[str, str]) -> bool:
    try:
        listed = [item.key for item in islice(source.list_under(table.prefix), _LISTED)]
    except (BotoCoreError, ClientError):
        return False  # The listing is refused as well.
    others = [key for key in reversed(listed) if key not in denied]
    return any(_is_given(table, source, key) for key in others[:_READ])


def _is_given(table: TableKey, source: Bucket, key: str) -> bool:
    probe, content = source.objects.head_with_tail(table.bucket, key, 1)
    return isinstance(probe, S3Gone) or (isinstance(probe, S3Found) and (bool(content) or probe.size == 0))
