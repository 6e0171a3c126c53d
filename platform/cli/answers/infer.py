"""What `tidegate infer` prints with `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.platform.cli.answers.answer import Answer


class InferredTable(Answer):
    """A table that the files of a folder would become."""

    name: str
    """Its SQL name."""
    prefix: str
    """Its prefix, as `s3://bucket/folder/`."""
    format: str | None
    """Format of the files. null if no file shows it."""
    files: int
    """Number of files."""
    columns: Mapping[str, str]
    """SQL types by the names of columns, as far as files were read."""
    partition_columns: tuple[str, ...]
    """Columns of the folders `k=v`."""
    options: Mapping[str, Any]
    """Options of the format that the files need."""
    problems: tuple[str, ...]
    """A sentence for each problem, with what to do."""
    possible: bool
    """Whether some setting makes these files a table."""


class InferAnswer(Answer):
    """The tables that files suggest."""

    tables: tuple[InferredTable, ...]
    """The tables, by their prefixes."""
    more: bool
    """Whether there are more files than the first ones, which were listed."""
    lake_yaml: str
    """Text of a `lake.yaml` to start from."""
