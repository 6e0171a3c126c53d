"""Names of tables for the completion of a shell: those of the lake.yaml that a command would read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def table_names(incomplete: str) -> list[str]:
    """Returns the tables of lake.yaml, and the silver tables as `silver.<name>`, that begin with a text.

    A file that cannot be read gives none: a shell shows no errors while a person types. The file is not checked, so
    that a variable that is not set, or a mistake elsewhere in the file, hides no table.
    """
    return sorted(name for name in _names() if name.startswith(incomplete))


def silver_names(incomplete: str) -> list[str]:
    """Returns the silver tables of lake.yaml that begin with a text."""
    return [name for name in table_names(incomplete) if name.startswith("silver.")]


def _names() -> Iterator[str]:
    import yaml

    try:
        body: Any = yaml.safe_load(Path(os.environ.get("TIDEGATE_LAKE") or "lake.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return
    lake = _part(body, "attributes", "inline") or body
    for table in _part(lake, "tables") or ():
        if isinstance(name := _part(table, "name"), str):
            yield name
            if _part(table, "silver"):
                yield f"silver.{name}"


def _part(body: Any, *names: str) -> Any:
    for name in names:
        body = body.get(name) if isinstance(body, dict) else None
    return body
