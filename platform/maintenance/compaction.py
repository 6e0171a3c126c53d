"""Compaction: the run that writes a table merges its small files into large ones from time to time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.errors import PySparkException

from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.results import CompactionResult
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.table_maintenance import CLUSTER_NEW, Clustering
from tidegate.platform.maintenance.cluster_columns import follow_cluster_by

#: A table is compacted each time that its batch number passes a multiple of this. The small files of 64 batches are
#: merged in one Spark job, and a table never has many more.
EVERY = 64


def is_due(before: int, after: int) -> bool:
    """Return whether a table that went from one batch to another should be compacted."""
    return passes(EVERY, before, after)


def passes(number: int, before: int, after: int) -> bool:
    """Return whether a multiple of a number is above the earlier batch number and not above the later batch number."""
    return before // number < after // number


def compact(
    delta: Delta, location: str, name: str, log: Callable[[str], None], clustering: Clustering | None = None
) -> CompactionResult:
    """Merge the small files of a table, and write files again of which a deletion vector hides many rows.

    No row changes. A failure is logged and does not fail the run: the files are merged the next time.

    Args:
        location: `s3a://` URI of the table. It must not be a registered table, whose files belong to the producer.
        name: name of the table in the log.
        log: called with a line.
        clustering: which files of a clustered table are sorted. None: it is not clustered.

    Returns:
        The numbers of files, which are 0 after a failure.
    """
    try:
        done = delta.compact(location, clustering)
    except (PySparkException, SparkUnreachable) as error:
        log(f"WARNING: the small files of {name} were not merged: {first_line(error)}")
        return CompactionResult(0, 0)
    if done.removed:
        log(f"{done.removed} {'small files' if clustering is None else 'files'} of {name} became {done.added}")
    if done.left:
        log(f"{done.left / (1 << 30):.1f} GiB of {name} are to be sorted next time")
    return done


def compact_after_commit(
    delta: Delta,
    location: str,
    name: str,
    cluster_by: Sequence[str] | None,
    log: Callable[[str], None],
    *,
    merges: bool,
    is_new: bool,
) -> None:
    """Let a table that was created be clustered, and merge its small files if that is due.

    Args:
        location: `s3a://` URI of the table, as for `compact`.
        name: name of the table in the log.
        cluster_by: as in lake.yaml.
        log: called with a line.
        merges: whether its small files are merged.
        is_new: whether the run created it.
    """
    if not merges and not (is_new and cluster_by):
        return
    clustered = follow_cluster_by(delta, location, cluster_by, name, log)
    if merges:
        compact(delta, location, name, log, CLUSTER_NEW if clustered else None)
