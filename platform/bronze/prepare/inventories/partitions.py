"""The live data files of partitions of the table of inventories, which a batch replaces."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.sql import functions as F

from tidegate.platform.bronze.prepare.load.data_files import found_with_entries
from tidegate.platform.core.bronze.batch import Remove
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.inventory.columns import PARTITIONS
from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.temporary_view import temporary_view


def live_subject_files(delta: Delta, birth: Birth, subjects: Collection[Subject]) -> list[Remove]:
    """Return the live entries of some subjects, as of one version of the table.

    Raises:
        RuntimeError: another writer committed to the table during each attempt.
    """

    def find() -> Sequence[str]:
        names = [F.col("_tidegate_partition")[name].alias(name) for name in PARTITIONS]
        with temporary_view(delta.session, "live") as view:
            delta.live_view(birth.location, view)
            rows = delta.session.table(view).select("_tidegate_logged", *names)
            found = rows.where(F.col("bucket").isin(sorted({subject.bucket for subject in subjects}))).collect()
        return [path for path, bucket, configuration in found if Subject(bucket, configuration) in subjects]

    paths, entries = found_with_entries(delta, birth.location, f"bronze.{birth.name}", find, lambda path: path)
    return [entries[path] for path in paths]
