"""Which engines can read a table, for its page."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from tidegate.assets.presentation.markdown import list_lines
from tidegate.platform.core.catalog.readers import readers_of
from tidegate.platform.core.schema.table_schema import TableSchema


def readers_text(features: Sequence[str], schema: TableSchema) -> dg.MarkdownMetadataValue:
    """Return a line for each engine: that it reads the table, or which features forbid it.

    Args:
        features: names of the features of the table's protocol.
        schema: the columns of the table.
    """
    return list_lines(readers_of(features, schema))
