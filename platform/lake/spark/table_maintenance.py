"""What maintenance asks of a table and does to its log: checkpoints, and files that nobody needs, or that are gone."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession

from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.lake.spark.procedures import Procedures
from tidegate.platform.lake.spark.session import override_settings
from tidegate.platform.lake.spark.temporary_view import temporary_view

#: Files below this size are merged, into files of up to the second size. By default Delta merges each file below a
#: gigabyte, and would rewrite a table of that size each time.
SMALL_BYTES, FULL_BYTES = 16 << 20, 128 << 20
#: Size of the files of a clustered table, in which a query for one value opens one file of each cube.
CLUSTERED_BYTES = SMALL_BYTES
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
class Clustering:
    """Which files of a clustered table OPTIMIZE sorts into new ones. Files that were sorted together are a cube.

    OPTIMIZE sorts cubes below a size again with each new file. By default that is each cube below a hundred gigabytes.

    Attributes:
        cube_bytes: that size.
        max_bytes: of the files that are sorted in one call. The rest is left for the next one. It is more than two
            cubes of that size, or two of them would never become one.
        takes_other_columns: also files that were clustered by other columns than those of the table.
    """

    cube_bytes: int
    max_bytes: int
    takes_other_columns: bool


#: In a run that writes the table.
CLUSTER_NEW = Clustering(FULL_BYTES, 1 << 30, takes_other_columns=False)
#: In maintenance.
CLUSTER_ALL = Clustering(4 << 30, 64 << 30, takes_other_columns=True)


@dataclass(frozen=True)
class Mergeable:
    """The files of a table that a compaction would write again.

    Attributes:
        files: number of files that are small and not alone in their folder, or of which many rows are hidden. Of a
            clustered table: that are not in a cube that stays as it is.
        size: their bytes.
        hidden: number of those of which a deletion vector hides many rows.
        in_one_folder: the greatest number of files of one folder.
        pieces: of a clustered table: number of files that are not clustered by its columns, and of cubes that do not
            stay as they are, but for one of these.
        unclustered_share: share of the bytes of the table in files that are not clustered by its columns.
    """

    files: int
    size: int
    hidden: int
    in_one_folder: int
    pieces: int = 0
    unclustered_share: float = 0.0


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

    def purge(self, location: str) -> None:
        """Write each file again of which a deletion vector hides rows.

        In a clustered table, REORG would leave each file that OPTIMIZE has clustered as it is.

        Args:
            location: `s3a://` URI of a table that exists.

        Raises:
            PySparkException: another commit came first.
        """
        self._procedures.call_one("purge_table", table=location, file_bytes=CLUSTERED_BYTES)

    def find_mergeable(self, location: str, clustered: Sequence[str] = ()) -> Mergeable:
        """Return what a compaction of a table would write again. Nothing is changed.

        Args:
            location: `s3a://` URI of a table that exists.
            clustered: the columns by which the table is clustered, as `name` or `name.field`.
        """
        session = self._session()
        is_small, is_hidden = f"_tidegate_size < {SMALL_BYTES}", f"_tidegate_hidden > {HIDDEN_SHARE}"
        folder = "regexp_extract(_tidegate_key, '^(.*)/', 1)"
        with temporary_view(session, "mergeable") as view:
            self._procedures.call_one("live_view", table=location, view=view)
            if clustered:
                return self._find_unclustered(view, clustered)
            (row,) = session.sql(
                "SELECT coalesce(sum(files), 0) AS files, coalesce(sum(size), 0) AS size, "
                "coalesce(sum(hidden), 0) AS hidden, coalesce(max(files), 0) AS most FROM "
                "(SELECT count(*) AS files, sum(_tidegate_size) AS size, "
                f"count_if({is_hidden}) AS hidden FROM {view} WHERE {is_small} OR {is_hidden} GROUP BY {folder}) "
                "WHERE files > 1 OR hidden > 0"
            ).collect()
            return Mergeable(row["files"], row["size"], row["hidden"], row["most"])

    def _find_unclustered(self, view: str, clustered: Sequence[str]) -> Mergeable:
        names = [name.replace("`", "") for name in clustered]
        by = literal(json.dumps(names, ensure_ascii=False, separators=(",", ":")))
        # Delta quotes some names. The size of a cube is that of its rows that no vector hides.
        of_files = (
            f"SELECT if(replace(_tidegate_clustered, '`') <=> {by}, _tidegate_cube, NULL) AS cube, "
            "_tidegate_size AS size, if(_tidegate_rows IS NULL, 1D, 1 - _tidegate_hidden) * _tidegate_size AS shown, "
            f"_tidegate_hidden > {HIDDEN_SHARE} AS is_hidden, sum(_tidegate_size) OVER () AS total FROM {view}"
        )
        of_cubes = (
            "SELECT cube, count(*) AS files, sum(size) AS size, sum(shown) AS shown, count_if(is_hidden) AS hidden, "
            f"max(total) AS total, cube IS NULL AS other FROM ({of_files}) GROUP BY cube"
        )
        (row,) = (
            self._session()
            .sql(
                "SELECT coalesce(sum(files), 0) AS files, coalesce(sum(size), 0) AS size, "
                "coalesce(sum(hidden), 0) AS hidden, count_if(NOT other) AS cubes, "
                "coalesce(sum(if(other, files, 0)), 0) AS other, "
                f"coalesce(sum(if(other, size, 0)) / max(total), 0D) AS share FROM ({of_cubes}) "
                f"WHERE other OR shown < {CLUSTER_ALL.cube_bytes}"
            )
            .collect()
        )
        pieces = row["other"] + max(0, row["cubes"] - 1)
        # A cube alone stays as it is.
        files, hidden = (row["files"], row["hidden"]) if pieces else (0, 0)
        return Mergeable(files, row["size"], hidden, 0, pieces, row["share"])
