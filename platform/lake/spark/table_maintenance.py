"""What maintenance asks of a table and does to its log: checkpoints, and files that nobody needs, or that are gone."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession

from tidegate.platform.lake.spark.procedures import Procedures
from tidegate.platform.lake.spark.session import override_settings
from tidegate.platform.lake.spark.temporary_view import temporary_view

#: Files below this size are merged, into files of up to the second size. By default Delta merges each file below a
#: gigabyte, and would rewrite a table of that size each time.
SMALL_BYTES, FULL_BYTES = 16 << 20, 128 << 20
#: Files of which a deletion vector hides a greater share of the rows are written without these rows.
HIDDEN_SHARE = 0.05
#: Delta lists the folders of a table in so many tasks, however few it has. Spark's default of 10,000 takes a minute.
_LISTING = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "32"}


@dataclass(frozen=True)
class CheckpointState:
    """How far the log of a table is ahead of its last checkpoint.

    Attributes:
        version: Delta version of the table.
        checkpoint: version of its last checkpoint. -1: it has none.
    """

    version: int
    checkpoint: int

    @property
    def commits(self) -> int:
        """Number of commits that a reader reads in addition to the checkpoint."""
        return self.version - self.checkpoint


@dataclass(frozen=True)
class Mergeable:
    """The files of a table that a compaction would write again.

    Attributes:
        files: number of files that are small and not alone in their folder, or of which many rows are hidden.
        size: their bytes.
        hidden: number of those of which a deletion vector hides many rows.
        in_one_folder: the greatest number of files of one folder.
    """

    files: int
    size: int
    hidden: int
    in_one_folder: int


class Upkeep:
    """The procedures of maintenance.

    Args:
        procedures: calls them.
        session: gives the session of the handle.
    """

    def __init__(self, procedures: Procedures, session: Callable[[], SparkSession]) -> None:
        self._procedures, self._session = procedures, session

    def checkpoint(self, location: str, *, write: bool) -> CheckpointState:
        """Return the state of a table's log, with a new checkpoint if `write`.

        With a checkpoint Delta deletes what is older than the log's retention.

        Args:
            location: `s3a://` URI of a table that exists.
            write: write the checkpoint of the present version, unless it exists.
        """
        row = self._procedures.call_one("checkpoint_table", table=location, write=write)
        return CheckpointState(row["version"], row["checkpoint"])

    def find_unneeded(
        self, location: str, keep: timedelta, max_files: int, inventory: DataFrame | None = None
    ) -> list[str]:
        """Return files of a table's folder that no version of the last `keep` needs, as VACUUM finds them.

        Args:
            location: `s3a://` URI of a table that exists.
            keep: not less than the retention in the table's properties, which VACUUM refuses.
            max_files: number of files that are returned at most.
            inventory: the files of the folder, as VACUUM reads an inventory. None: the folder is listed.
        """
        session, hours = self._session(), math.ceil(keep / timedelta(hours=1))
        listed = nullcontext("") if inventory is None else temporary_view(session, "inventory", inventory)
        with listed as view, override_settings(session, _LISTING):
            rows = self._procedures.call(
                "unneeded_files", table=location, hours=hours, max_files=max_files, inventory=view
            )
        return [str(row["path"]) for row in rows]

    def has_changes(self, location: str, version: int) -> bool:
        """Return whether Delta can still read the changes that a version made: its commit, and the files of it.

        Args:
            location: `s3a://` URI of a table that exists.
            version: Delta version.
        """
        return bool(self._procedures.call_one("has_changes", table=location, version=version)["has"])

    def find_mergeable(self, location: str) -> Mergeable:
        """Return what a compaction of a table would write again. Nothing is changed.

        Args:
            location: `s3a://` URI of a table that exists.
        """
        session = self._session()
        is_small, is_hidden = f"_tidegate_size < {SMALL_BYTES}", f"_tidegate_hidden > {HIDDEN_SHARE}"
        folder = "regexp_extract(_tidegate_key, '^(.*)/', 1)"
        with temporary_view(session, "mergeable") as view:
            self._procedures.call_one("live_view", table=location, view=view)
            (row,) = session.sql(
                "SELECT coalesce(sum(files), 0) AS files, coalesce(sum(size), 0) AS size, "
                "coalesce(sum(hidden), 0) AS hidden, coalesce(max(files), 0) AS most FROM "
                "(SELECT count(*) AS files, sum(_tidegate_size) AS size, "
                f"count_if({is_hidden}) AS hidden FROM {view} WHERE {is_small} OR {is_hidden} GROUP BY {folder}) "
                "WHERE files > 1 OR hidden > 0"
            ).collect()
        return Mergeable(row["files"], row["size"], row["hidden"], row["most"])
