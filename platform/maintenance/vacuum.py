"""The files of the lake's own tables that no version needs any more: when they may be deleted, and their deletion.

VACUUM finds them, and they are deleted here: so a dry run shows exactly what a run deletes, and its number and size are
known. A run that dies is repeated, and finds the files that are left.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice

from pyspark.sql import DataFrame

from tidegate.platform.core.bronze.object_state import S3Found, S3Gone
from tidegate.platform.core.errors import BadSetting, DataError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.aws.s3 import Listed, StoreError
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.threads import parallel
from tidegate.platform.maintenance.deletion import NOTHING, FreedObjects, delete_objects

_HOUR = timedelta(hours=1)
#: Files of one call. The rest is found by the next call.
MAX_FILES = 100_000
#: Keys that S3 is asked for before the deletion of those that are old.
_AT_ONCE = 1000

_FILES, _LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
#: Delta's defaults.
_DEFAULTS = {_FILES: timedelta(days=7), _LOG: timedelta(days=30)}
_UNITS = {"week": 7 * 86400, "day": 86400, "hour": 3600, "minute": 60, "second": 1}


def retention(delta: Delta, location: str) -> timedelta:
    """Return for how long the files of a table are kept after they were removed, by its properties.

    VACUUM counts whole hours, so the retention is rounded up to whole hours.

    Args:
        location: `s3a://` URI of the table.

    Raises:
        ValueError: the retention is not a number of weeks, days, hours, minutes or seconds.
    """
    kept = deleted_file_retention(delta.table_state(location).properties)
    return _HOUR * math.ceil(kept / _HOUR)


def vacuum(
    lake: Lake, location: str, keep: timedelta, *, dry_run: bool = False, inventory: DataFrame | None = None
) -> FreedObjects:
    """Delete the files of one of the lake's own tables that no version of the last `keep` needs.

    Also files that no commit names, which a run left that died. Returns what was deleted; in a dry run, what would be.

    Args:
        location: `s3a://` URI of the table.
        keep: not less than `retention`. A file that is younger stays, whatever it is.
        dry_run: delete nothing.
        inventory: the files of the table's folder, as VACUUM reads an inventory. None: the folder is listed.

    Raises:
        DataError: the table is not below the lake root.
        StoreError: S3 did not answer.
    """
    freed, is_full = _vacuum_table(lake.delta, lake.store, location, keep, dry_run=dry_run, inventory=inventory)
    if inventory is not None and is_full and not freed.files and not dry_run:
        # An earlier call has deleted the files that this inventory names first.
        return _vacuum_table(lake.delta, lake.store, location, keep, dry_run=False)[0]
    return freed


def vacuum_all(delta: Delta, store: LakeStore, location: str, keep: timedelta) -> FreedObjects:
    """Delete as `vacuum` does, until VACUUM finds no more than one call deletes. Returns what was deleted.

    VACUUM reads the log and lists the folder each time that it is asked, so it is asked again only if files were left.

    Args:
        location: `s3a://` URI of the table.
        keep: not less than `retention`.

    Raises:
        DataError: the table is not below the lake root.
        StoreError: S3 did not answer.
    """
    freed, are_left = NOTHING, True
    while are_left:
        some, is_full = _vacuum_table(delta, store, location, keep, dry_run=False)
        freed, are_left = freed + some, is_full and some.files > 0
    return freed


def _vacuum_table(
    delta: Delta, store: LakeStore, location: str, keep: timedelta, *, dry_run: bool, inventory: DataFrame | None = None
) -> tuple[FreedObjects, bool]:
    """Delete what VACUUM finds. Returns what was deleted, and whether VACUUM gave as many files as it may."""
    bucket, folder = own_folder(store, location)
    paths = delta.upkeep.find_unneeded(location, keep, MAX_FILES, inventory)
    keys = {path.key for path in map(S3Address.parse_s3a, paths) if _is_data(path, bucket, folder)}
    present = _list_from_folder(store, folder, keys) if inventory is None else _list_by_key(store, keys)
    latest = (datetime.now(UTC) - keep).timestamp()
    # VACUUM compares the times of a listing or an inventory. A file that came since then is not what it found.
    old = (item for item in present if item.modified <= latest)
    freed = delete_objects(store, old, "maintain-delete", dry_run=dry_run)
    return freed, len(paths) >= MAX_FILES


def _is_data(path: S3Address, bucket: str, folder: str) -> bool:
    """Return whether a path is below the table's folder and not in its log."""
    return path.bucket == bucket and path.key.startswith(folder) and not path.key.startswith(f"{folder}_delta_log/")


def _list_from_folder(store: LakeStore, folder: str, keys: set[str]) -> Iterator[Listed]:
    """Yield the objects of some keys from a listing of the table's folder."""
    for item in store.objects.list_under(store.bucket, folder) if keys else ():
        if item.key in keys:
            yield item


def _list_by_key(store: LakeStore, keys: set[str]) -> Iterator[Listed]:
    """Yield the objects of some keys as they are now: an inventory is days old, and a key may have a newer object."""
    remaining = iter(sorted(keys))
    while some := list(islice(remaining, _AT_ONCE)):
        for key, found in zip(some, parallel(partial(store.objects.head, store.bucket), some), strict=True):
            if isinstance(found, S3Found):
                yield Listed(key, found.etag, found.size, found.modification_time / 1000)
            elif not isinstance(found, S3Gone):
                raise StoreError(f"{S3Address(store.bucket, key)}: {found.detail}")


def own_folder(store: LakeStore, location: str) -> tuple[str, str]:
    """Return bucket and folder of one of the lake's own tables.

    Raises:
        DataError: the table is not below the lake root.
    """
    bucket, key = S3Address.parse_s3a(location)
    if bucket != store.bucket or not f"{key}/".startswith(store.key("")):
        raise DataError(f"{location} is not below the lake root, so Tidegate deletes and rewrites none of its files")
    return bucket, f"{key}/"


def deleted_file_retention(properties: Mapping[str, str]) -> timedelta:
    """Return for how long the files of a table are kept after they were removed.

    Args:
        properties: of the table.

    Raises:
        ValueError: the retention is not a number of weeks, days, hours, minutes or seconds.
    """
    return _retention(properties, _FILES)


def log_retention(properties: Mapping[str, str]) -> timedelta:
    """Return for how long the commits of a table are kept in its log.

    Raises:
        ValueError: as `deleted_file_retention`.
    """
    return _retention(properties, _LOG)


def _retention(properties: Mapping[str, str], name: str) -> timedelta:
    text = properties.get(name)
    if not text:
        return _DEFAULTS[name]
    parts = re.findall(r"(?<!\d)(\d++)\s++(week|day|hour|minute|second)s?", text.lower())
    if not parts:
        raise BadSetting(f"{name} is {text!r}: use weeks, days, hours, minutes or seconds, such as `interval 7 days`")
    return timedelta(seconds=sum(int(number) * _UNITS[unit] for number, unit in parts))
