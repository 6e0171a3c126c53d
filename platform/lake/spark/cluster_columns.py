"""The columns by which a Delta table is clustered: OPTIMIZE sorts rows into files by them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import SparkSession

from tidegate.platform.core.schema.column_reference import quote_path
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.spark.session import command

#: The feature of a table that is clustered, or once was. It binds writers only.
CLUSTERING = "clustering"
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
    (row,) = command(session, f"DESCRIBE DETAIL {delta_table(location)}")
    return tuple(
        ".".join(quoted.replace("``", "`") or plain for quoted, plain in _PART.findall(name))
        for name in row["clusteringColumns"] or ()
    )


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
