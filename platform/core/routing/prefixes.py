"""Which configured prefix an object is below: a table's, an after-load folder, or the folder of an inventory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.s3_address import S3Address


def table_holding(bucket: str, key: str, config: LakeConfig) -> TableSpec | None:
    """Return the configured table whose prefix an object is below, or None."""
    prefixes, specs = config.tables_by_prefix.get(bucket, ([], []))
    # Prefixes never overlap, so only the last one that sorts before the key can be its beginning.
    place = bisect_right(prefixes, key) - 1
    return specs[place] if place >= 0 and key.startswith(prefixes[place]) else None


def after_load_folder(bucket: str, key: str, config: LakeConfig) -> str | None:
    """Return the `s3://` folder to which `after_load` moves files, if an object is below such a folder."""
    return _first_holding(config.after_load_folders, bucket, key)


def inventory_folder(bucket: str, key: str, config: LakeConfig) -> str | None:
    """Return the `s3://` folder to which S3 delivers an inventory, if an object is below such a folder."""
    return _first_holding(config.inventory_folders, bucket, key)


def _first_holding(folders: Iterable[str], bucket: str, key: str) -> str | None:
    address = S3Address(bucket, key).s3
    return next((folder for folder in folders if address.startswith(folder)), None)
