"""Sums of the objects in the table of inventories, computed by Spark, for reports of what storage costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.cost import (
    AGES,
    COMBINED_PREFIXES,
    CURRENT,
    ENDS,
    LARGER,
    NONCURRENT,
    OLDER,
    SIZES,
    STAYS,
    UNKNOWN,
    StoredSum,
)
from tidegate.platform.core.storage.prices import (
    ARCHIVE_CLASSES,
    ARCHIVE_OVERHEAD,
    ARCHIVE_TIERS,
    MIN_BILLED,
    MIN_BILLED_CLASSES,
    STANDARD_OVERHEAD,
    TIERING,
)

#: This process holds all groups of a report, which need about 400 bytes each.
MAX_GROUPS = 100_000
#: Without prefixes. An account with 4,000 buckets has a few hundred groups of each.
MAX_WITHOUT_PREFIXES = 2_000_000


class TooManyGroups(InventoryError):
    """A report has too many groups."""


def stored_sums(objects: DataFrame, by: Sequence[str], depth: int) -> list[StoredSum]:
    """Return the sums of all versions, by some dimensions and by what they are billed as.

    Args:
        objects: rows of the table of inventories.
        by: of `DIMENSIONS`, and `ends` if the objects have it.
        depth: number of folders of `prefix`. With 0, all prefixes are `COMBINED_PREFIXES`.

    Raises:
        TooManyGroups: there are more than `MAX_GROUPS`, or `MAX_WITHOUT_PREFIXES` if `depth` is 0.
    """
    stored = objects.where(~F.coalesce("is_delete_marker", F.lit(False)))
    kind = F.coalesce("storage_class", F.lit(UNKNOWN))
    tier = F.regexp_replace(F.coalesce("intelligent_tiering_access_tier", F.lit("FREQUENT")), "_ACCESS$", "")
    tiered = kind == TIERING
    size = F.coalesce("size", F.lit(0))
    archived = kind.isin(*ARCHIVE_CLASSES) | (tiered & tier.isin(*ARCHIVE_TIERS))
    billed = F.when(kind.isin(*MIN_BILLED_CLASSES), F.greatest(size, F.lit(MIN_BILLED)))
    billed = billed.when(archived, size + ARCHIVE_OVERHEAD).otherwise(size)
    dimensions = _dimensions(depth)
    rows = stored.select(
        F.array(*(F.coalesce(dimensions[name], F.lit(UNKNOWN)) for name in by)).alias("group"),
        F.when(tiered, F.concat_ws(" ", kind, tier)).otherwise(kind).alias("kind"),
        size.alias("size"),
        billed.alias("billed"),
        F.when(archived, F.lit(STANDARD_OVERHEAD)).otherwise(0).alias("standard"),
        F.when(tiered & (size >= MIN_BILLED), 1).otherwise(0).alias("monitored"),
    )
    max_groups = MAX_GROUPS if depth else MAX_WITHOUT_PREFIXES
    sums = [F.sum(name) for name in ("size", "billed", "standard", "monitored")]
    found = rows.groupBy("group", "kind").agg(F.count(F.lit(1)), *sums).limit(max_groups + 1).collect()
    if len(found) > max_groups:
        raise TooManyGroups(
            f"the report would have more than {max_groups:,} groups: use less depth or fewer dimensions"
        )
    return [StoredSum(tuple(group), *values) for group, *values in found]


def with_ends(objects: DataFrame, months: int) -> DataFrame:
    """Return objects with the dimension `ends`: whether a lifecycle rule deletes them within some months.

    Where an inventory does not list `LifecycleExpirationDate`, all objects are taken to stay.

    Args:
        objects: rows of the table of inventories.
        months: after their inventory. A month has 30 days.
    """
    if "lifecycle_expiration_date" not in objects.columns:
        return objects.withColumn("ends", F.lit(STAYS))
    ends = F.datediff("lifecycle_expiration_date", "inventory_created") <= 30 * months
    return objects.withColumn("ends", F.when(ends, ENDS).otherwise(STAYS))


def first_folders(depth: int) -> Column:
    """Return the prefix of the column `key` with so many folders. Keys without a folder have an empty prefix."""
    folders = F.split("key", "/")
    parents = F.slice(folders, 1, F.least(F.lit(depth), F.size(folders) - 1))
    return F.when(F.size(parents) > 0, F.concat(F.array_join(parents, "/"), F.lit("/"))).otherwise("")


def _dimensions(depth: int) -> Mapping[str, Column]:
    days = F.datediff("inventory_created", "last_modified_date")
    return {
        "bucket": F.col("bucket"),
        "configuration": F.col("configuration"),
        "prefix": first_folders(depth) if depth else F.lit(COMBINED_PREFIXES),
        "storage_class": F.col("storage_class"),
        "age": _class(days, AGES, OLDER),
        "size": _class(F.col("size"), SIZES, LARGER),
        "ends": F.col("ends"),
        "version": F.when(F.coalesce("is_latest", F.lit(True)), CURRENT).otherwise(NONCURRENT),
    }


def _class(value: Column, bounds: Sequence[tuple[int, str]], above: str) -> Column:
    (first, name), *others = bounds
    found = F.when(value < first, name)
    for bound, other in others:
        found = found.when(value < bound, other)
    return found.when(value.isNotNull(), above)
