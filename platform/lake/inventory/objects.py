"""The objects of a table of inventories, each of them once: of each bucket, one inventory counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.core.times import from_micros


def inventory_objects(session: SparkSession, location: str, configuration: str = "") -> DataFrame:
    """Return the rows of a table of inventories.

    Args:
        location: URI of the table.
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.

    Raises:
        InventoryError: a bucket has several configurations, and none is chosen; or no bucket has the chosen one.
    """
    rows = session.read.format("delta").load(location)
    return rows.where(counted_objects_condition(rows, subjects_of(rows), configuration) or "true")


def subjects_of(rows: DataFrame) -> list[Subject]:
    """Return the subjects that have a row in the table of inventories."""
    return [Subject(*row) for row in rows.select("bucket", "configuration").distinct().collect()]


def counted_objects_condition(rows: DataFrame, subjects: Sequence[Subject], configuration: str) -> str:
    """Return the SQL condition of the rows of which each object is counted once. Empty: all.

    Args:
        rows: of the table of inventories.
        subjects: of these rows.
        configuration: as in `inventory_objects`, whose error this raises.
    """
    newest = dict.fromkeys(subjects, datetime.min)
    if configuration and (several := buckets_with_several(subjects)):
        newest |= newest_creation_times(rows.where(F.col("bucket").isin(list(several))))
    return counted_rows_condition(subjects, uncounted_inventories(newest, configuration))


def buckets_of_versions(objects: DataFrame) -> set[str]:
    """Return the buckets of which an inventory lists all versions.

    Args:
        objects: rows of the table of inventories.
    """
    return {bucket for (bucket,) in objects.where(F.col("is_latest").isNotNull()).select("bucket").distinct().collect()}


def newest_creation_times(objects: DataFrame) -> dict[Subject, datetime]:
    """Return when S3 began the inventory that a table has of each bucket with objects.

    Args:
        objects: rows of the table of inventories.
    """
    newest = F.unix_micros(F.max("inventory_created")).alias("newest")
    rows = objects.groupBy("bucket", "configuration").agg(newest).collect()
    return {Subject(bucket, configuration): from_micros(created) for bucket, configuration, created in rows}


def buckets_with_several(subjects: Iterable[Subject]) -> dict[str, list[str]]:
    """Return the buckets with inventories of several configurations, with the names of these, in order."""
    found: dict[str, list[str]] = {}
    for subject in sorted(subjects):
        found.setdefault(subject.bucket, []).append(subject.configuration)
    return {bucket: names for bucket, names in found.items() if len(names) > 1}


def uncounted_inventories(newest: Mapping[Subject, date], configuration: str) -> list[Subject]:
    """Return the inventories that a report leaves out.

    A choice is only about buckets with several configurations. Those without the chosen one count their newest.

    Args:
        newest: when the newest inventory of each subject was begun.
        configuration: the choice. Empty: none.

    Raises:
        InventoryError: a bucket has several configurations, and none is chosen; or no bucket has the chosen one.
    """
    several = buckets_with_several(newest)
    if configuration:
        names = sorted({subject.configuration for subject in newest})
        if names and configuration not in names:
            raise InventoryError(f"no inventory is of the configuration {configuration}, only of {', '.join(names)}")
    elif several:
        bucket, names = next(iter(several.items()))
        raise InventoryError(
            f"the bucket {bucket} has inventories of {' and '.join(names)}, and its objects would be counted twice: "
            "choose a configuration"
        )

    def rank(subject: Subject) -> tuple[bool, date, str]:
        return subject.configuration == configuration, newest[subject], subject.configuration

    counted = {max((Subject(bucket, name) for name in names), key=rank) for bucket, names in several.items()}
    return [subject for subject in sorted(newest) if subject.bucket in several and subject not in counted]


def counted_rows_condition(subjects: Iterable[Subject], left_out: Iterable[Subject]) -> str:
    """Return the SQL condition of the rows that count. Empty: all.

    Args:
        subjects: of the table.
        left_out: those that do not count.
    """
    buckets: dict[str, list[str]] = {}
    for subject in sorted(left_out):
        buckets.setdefault(subject.configuration, []).append(subject.bucket)
    all_of = {name: {subject.bucket for subject in subjects if subject.configuration == name} for name in buckets}
    conditions = []
    for name, some in buckets.items():
        if all_of[name] == set(some):
            conditions.append(f"configuration <> {literal(name)}")
        else:
            among = ", ".join(map(literal, some))
            conditions.append(f"NOT (configuration = {literal(name)} AND bucket IN ({among}))")
    return " AND ".join(conditions)
