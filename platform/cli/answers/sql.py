"""What `tidegate sql` prints with `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.platform.cli.answers.answer import Answer


class SqlColumn(Answer):
    """A column of a query's result."""

    name: str
    """Its name."""
    type: str
    """Its type in Spark SQL."""


class SqlAnswer(Answer):
    """The result of a query."""

    columns: tuple[SqlColumn, ...]
    """The columns, in their order. Empty if the statement has no result."""
    rows: tuple[Mapping[str, Any], ...]
    """The rows, each with its values by the names of the columns. DECIMALs are strings, and BINARY is base64."""
    more: int
    """Number of rows that `--limit` left out."""
