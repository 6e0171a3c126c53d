"""Check for Delta tables of other owners in folders of this lake."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from tidegate.platform.cli.check.catalog import Check
from tidegate.platform.cli.check.findings import Failed, Finding, checked
from tidegate.platform.core.bronze.object_state import S3Found, S3Gone
from tidegate.platform.core.foreign_json import foreign_json
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake_root.store import LakeStore

#: Bytes of a first commit that may be ours: it has an add of each file of a table's first batch.
_MAX_COMMIT_BYTES = 128 << 20


def check_foreign(store: LakeStore, bucket: str, folders: Iterable[str]) -> Finding:
    """Check that no folder contains a Delta table that is not this lake's.

    Args:
        store: the store of the lake.
        bucket: the bucket of the folders.
        folders: key prefixes that end with `/`.
    """

    def none_there() -> str:
        found = [S3Address(bucket, folder).s3 for folder in folders if _is_foreign(store, bucket, folder)]
        if found:
            raise Failed(
                f"{', '.join(found)} contains a Delta table of another owner (its _delta_log is not this lake's). It "
                "cannot be registered, and loading its files would also load rows that it has removed. Write those "
                "files elsewhere, or leave the prefix out of this lake"
            )
        return ""

    return checked(Check.BUCKET_FOREIGN_TABLE, bucket, none_there)


def folders_above(key: str) -> list[str]:
    """Returns every folder above a key, the outermost first."""
    parts = key.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) + "/" for depth in range(len(parts))]


def _is_foreign(store: LakeStore, bucket: str, folder: str) -> bool:
    log = f"{folder}_delta_log/"
    if store.objects.is_empty(bucket, log):
        return False
    found, first = store.objects.head_with_body(bucket, f"{log}{0:020d}.json", _MAX_COMMIT_BYTES)
    if isinstance(found, S3Gone):
        # The first commits were cleaned up. A table that we created here is ours: the first commit is refused where a
        # foreign log exists.
        birth = store.births.read(TableKey(bucket, folder).encode())
        return birth is None or not birth.registered
    if not isinstance(found, S3Found):
        raise StoreError(f"{S3Address(bucket, log).s3}: {found.detail}")
    lake = store.identity.chosen()
    return first is None or lake is None or lake not in _owners(first)


def _owners(commit: bytes) -> Iterator[str]:
    for line in io.BytesIO(commit):
        try:
            action = foreign_json(line)
            yield action["metaData"]["configuration"]["tidegate.lake"]
        except (ValueError, KeyError, TypeError):
            continue
