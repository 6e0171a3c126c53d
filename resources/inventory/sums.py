"""Sums of the objects in the table of inventories, computed by Spark, for reports of what storage costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidegate.platform.core.inventory.cost import StoredSum
from tidegate.platform.core.inventory.prices import (
    ARCHIVE_CLASSES,
    ARCHIVE_OVERHEAD,
    MIN_BILLED,
    MIN_BILLED_CLASSES,
    STANDARD_OVERHEAD,
)

_AGES = ((30, "to 30 days"), (90, "to 90 days"), (365, "to a year"))
_SIZES = ((128 << 10, "to 128 KiB"), (1 << 20, "to 1 MiB"), (128 << 20, "to 128 MiB"))
#: A configuration without the field StorageClass, and one without Size, leave it unknown what objects cost.
UNKNOWN = "unknown"


def stored_sums(objects: DataFrame, by: Sequence[str], depth: int) -> list[StoredSum]:
    """Return the sums of all versions, by some dimensions and by what they are billed as.

    Args:
        objects: rows of the table of inventories.
        by: of `DIMENSIONS`.
        depth: number of folders of `prefix`.
    """
    stored = objects.where(~F.coalesce("is_delete_marker", F.lit(False)))
    kind = F.coalesce("storage_class", F.lit(UNKNOWN))
    tiered = F.concat_ws(" ", kind, F.coalesce("intelligent_tiering_access_tier", F.lit("FREQUENT")))
    kind = F.when(kind == "INTELLIGENT_TIERING", tiered).otherwise(kind)
    size = F.coalesce("size", F.lit(0))
    archived = F.col("storage_class").isin(*ARCHIVE_CLASSES)
    billed = F.when(F.col("storage_class").isin(*MIN_BILLED_CLASSES), F.greatest(size, F.lit(MIN_BILLED)))
    billed = billed.when(archived, size + ARCHIVE_OVERHEAD).otherwise(size)
    dimensions = _dimensions(depth)
    rows = stored.select(
        F.array(*(F.coalesce(dimensions[name], F.lit(UNKNOWN)) for name in by)).alias("group"),
        kind.alias("kind"),
        size.alias("size"),
        billed.alias("billed"),
        F.when(archived, F.lit(STANDARD_OVERHEAD)).otherwise(0).alias("standard"),
    )
    sums = [F.sum(name) for name in ("size", "billed", "standard")]
    found = rows.groupBy("group", "kind").agg(F.count(F.lit(1)), *sums).collect()
    return [StoredSum(tuple(group), *values) for group, *values in found]


def _dimensions(depth: int) -> Mapping[str, Column]:
    folders = F.split("key", "/")
    parents = F.slice(folders, 1, F.least(F.lit(depth), F.size(folders) - 1))
    days = F.datediff("inventory_created", "last_modified_date")
    return {
        "bucket": F.col("bucket"),
        "configuration": F.col("configuration"),
        "prefix": F.when(F.size(parents) > 0, F.concat(F.array_join(parents, "/"), F.lit("/"))).otherwise(""),
        "storage_class": F.col("storage_class"),
        "age": _class(days, _AGES, "older"),
        "size": _class(F.col("size"), _SIZES, "larger"),
    }


def _class(value: Column, bounds: Sequence[tuple[int, str]], above: str) -> Column:
    (first, name), *others = bounds
    found = F.when(value <= first, name)
    for bound, other in others:
        found = found.when(value <= bound, other)
    return found.when(value.isNotNull(), above)
