"""Which configured prefix an object is below: a table's, an after-load folder, or the folder of an inventory."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.nested import place_of
from tidegate.platform.core.keys.s3_address import S3Address


def table_holding(bucket: str, key: str, config: LakeConfig) -> TableSpec | None:
    """Return the configured table whose prefix an object is below, or None."""
    prefixes, specs = config.tables_by_prefix.get(bucket, ([], []))
    place = place_of(key, prefixes)
    return None if place is None else specs[place]


def after_load_folder(bucket: str, key: str, config: LakeConfig) -> str | None:
    """Return the `s3://` folder to which `after_load` moves files, if an object is below such a folder."""
    return _enclosing_folder(config.after_load_folders, bucket, key)


def inventory_folder(bucket: str, key: str, config: LakeConfig) -> str | None:
    """Return the `s3://` folder to which S3 delivers an inventory, if an object is below such a folder."""
    return _enclosing_folder(config.inventory_folders, bucket, key)


def _enclosing_folder(folders: Sequence[str], bucket: str, key: str) -> str | None:
    place = place_of(S3Address(bucket, key).s3, folders)
    return None if place is None else folders[place]
