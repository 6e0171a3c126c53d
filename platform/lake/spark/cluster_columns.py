"""The columns by which a Delta table is clustered: OPTIMIZE sorts rows into files by them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pyspark.sql import SparkSession

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.schema.column_reference import quote_path, spell_path
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.lake.spark.commit_retry import repeat_call
from tidegate.platform.lake.spark.properties import set_properties
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.spark.session import command

#: The feature of a table that is clustered, or once was. It binds writers only.
CLUSTERING = "clustering"
#: Property of a table that is being purged, or whose purge died: the columns that it was clustered by, as JSON.
_PURGED = "tidegate.clustered_by"
#: How often a purge is tried in which somebody else clusters the table.
_MAX_PURGES = 3
#: A part of a name. Delta quotes a part that is not an identifier.
_PART = re.compile(r"`((?:[^`]|``)*)`|([^`.]+)")


def cluster_columns(session: SparkSession, location: str, state: TableState) -> tuple[str, ...]:
    """Return the columns and nested fields by which a table is clustered, as `name` or `name.field`.

    Args:
        session: runs the query, which reads the state of the whole table if the table has the feature.
        location: `s3a://` URI of the table.
    """
    if CLUSTERING not in state.features:
        return ()
    return tuple(".".join(path) for path in _cluster_paths(session, location))


def _cluster_paths(session: SparkSession, location: str) -> list[tuple[str, ...]]:
    (row,) = command(session, f"DESCRIBE DETAIL {delta_table(location)}")
    return [
        tuple(quoted.replace("``", "`") or plain for quoted, plain in _PART.findall(name))
        for name in row["clusteringColumns"] or ()
    ]


def cluster_table(session: SparkSession, location: str, paths: Sequence[Sequence[str]]) -> None:
    """Set the columns and nested fields by which a table is clustered from now on. No file is written again.

    Args:
        session: runs the command.
        location: `s3a://` URI of the table.
        paths: as the table spells them. Without any, the table is clustered by none.

    Raises:
        PySparkException: Delta cannot cluster by them, or another commit came first.
    """
    by = f"({', '.join(map(quote_path, paths))})" if paths else "NONE"
    command(session, f"ALTER TABLE {delta_table(location)} CLUSTER BY {by}")


def restore_clustering(session: SparkSession, location: str, state: TableState) -> None:
    """Set the columns of a table again that it had before a purge that died. Without such a purge, do nothing.

    Args:
        session: runs the commands.
        location: `s3a://` URI of the table.

    Raises:
        PySparkException: another commit came first.
    """
    if _PURGED in state.properties:
        paths = json.loads(state.properties[_PURGED])
        _restore(session, location, [path for path in paths if spell_path(path, state.schema.fields)])


def purge_hidden_rows(session: SparkSession, location: str, state: TableState) -> None:
    """Write each file again of which a deletion vector hides rows.

    In a clustered table, REORG leaves each file that OPTIMIZE has clustered as it is. So the table is not clustered
    meanwhile. It is clustered by its columns again if the purge fails, too. A property keeps them for the case that the
    process dies: the next purge sets them again before it begins, or maintenance does.

    Args:
        session: runs the commands.
        location: `s3a://` URI of the table.

    Raises:
        PySparkException: another commit came first.
        UnavailableError: somebody else clustered the table during each attempt.
    """
    restore_clustering(session, location, state)
    for _ in range(_MAX_PURGES):
        if _purge(session, location, _cluster_paths(session, location)):
            return
    raise UnavailableError(f"{location} was clustered by another process each time that it was purged: run it again")


def _purge(session: SparkSession, location: str, paths: Sequence[Sequence[str]]) -> bool:
    """Return whether REORG took the table for one that is not clustered."""
    try:
        if paths:
            set_properties(session, location, {_PURGED: json.dumps(paths)})
            cluster_table(session, location, ())
        (done,) = command(session, f"REORG TABLE {delta_table(location)} APPLY (PURGE)")
    finally:
        if paths:
            # A caller that purges again sees no columns if they are not set here.
            repeat_call(lambda: _restore(session, location, paths), lambda _: None)
    return done["metrics"]["clusteringStats"] is None


def _restore(session: SparkSession, location: str, paths: Sequence[Sequence[str]]) -> None:
    cluster_table(session, location, paths)
    set_properties(session, location, {_PURGED: None})
