"""Clustering: a loaded or silver table is clustered by the columns of `cluster_by` in `lake.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.errors import PySparkException

from tidegate.platform.core.schema.column_reference import path_of
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.spark.cluster_columns import CLUSTERING, cluster_columns, cluster_table
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.spark.server_errors import SparkUnreachable


def follow_cluster_by(
    delta: Delta,
    location: str,
    wanted: Sequence[str] | None,
    name: str,
    log: Callable[[str], None],
    *,
    dry_run: bool = False,
) -> tuple[str, ...]:
    """Let a table be clustered by the columns of `lake.yaml`, if it is clustered by others. No row changes.

    What cannot be done is logged and fails nothing: the table stays as it is, and takes rows as before.

    Args:
        location: `s3a://` URI of the table. It must not be a registered table.
        wanted: the columns of `cluster_by`. None, if lake.yaml does not say: the table stays as it is.
        name: name of the table in the log.
        log: called with a line if something changes, or cannot be changed.
        dry_run: change nothing.

    Returns:
        The columns by which the table is clustered afterwards, as `name` or `name.field`.
    """
    now: tuple[str, ...] = ()
    try:
        state = delta.table_state(location)
        if not state.has_columns or not (wanted or CLUSTERING in state.features):
            return ()
        now = cluster_columns(delta.session, location, state)
        if wanted is None:
            return now
        if problem := why_not_clustered(state, wanted):
            log(f"WARNING: {name} is not clustered by `cluster_by`: {problem}. It stays clustered by {_show(now)}")
            return now
        paths = [path for column in wanted if (path := path_of(column, state.schema.fields))]
        shown = tuple(".".join(path) for path in paths)
        if shown == now:
            return now
        if not dry_run:
            cluster_table(delta.session, location, paths)
        log(f"{name} {'would be' if dry_run else 'is'} clustered by {_show(shown)} instead of {_show(now)}")
        return shown
    except (PySparkException, SparkUnreachable) as error:
        log(
            f"WARNING: {name} is not clustered by `cluster_by`: {first_line(error)}. It stays clustered by {_show(now)}"
        )
        return now


def why_not_clustered(state: TableState, wanted: Sequence[str]) -> str | None:
    """Return why a table cannot be clustered by columns, with what to do. None if only Delta knows.

    Args:
        wanted: the columns of `cluster_by`.
    """
    if not wanted:
        return None
    if state.schema.partitions:
        return (
            f"its files are in folders of {', '.join(state.schema.partitions)}, and Delta does not cluster such a "
            "table; remove `cluster_by`"
        )
    unknown = [column for column in wanted if path_of(column, state.schema.fields) is None]
    if unknown:
        return f"it has no column {', '.join(unknown)} (yet); correct `cluster_by`, or wait for a file that has it"
    return None


def _show(columns: Sequence[str]) -> str:
    return ", ".join(columns) or "no column"
