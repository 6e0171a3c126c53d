"""Options that several commands have, and the names of tables for the completion of a shell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

Home = Annotated[Path, typer.Option(help="Folder for all local state.")]
RunningHome = Annotated[Path | None, typer.Option(help="Home of a running local platform.")]
AwsPort = Annotated[int, typer.Option(help="Port of the local AWS, 0 for a free one.")]
SparkPort = Annotated[int, typer.Option(help="Port of the Spark Connect server, 0 for a free one.")]
UiPort = Annotated[int, typer.Option(help="Port of the Dagster UI, 0 for a free one.")]
Report = Annotated[Path | None, typer.Option(help="Write the report as JSON.")]
Keep = Annotated[bool, typer.Option(help="Keep the platform and the UI running until Ctrl-C.")]
LakeFile = Annotated[Path | None, typer.Option(help="Your lake.yaml; default: TIDEGATE_LAKE, else lake.yaml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only, for programs.")]
PlanAsJson = Annotated[bool, typer.Option("--json", help="Print the plan as JSON only, for programs.")]
ApplyChange = Annotated[bool, typer.Option("--yes", help="Apply the change. Without it, print the plan only.")]
WriteChanges = Annotated[bool, typer.Option("--yes", help="Write. Without it, only the differences are printed.")]


def table_names(incomplete: str) -> list[str]:
    """Return the tables of lake.yaml, and the silver tables as `silver.<name>`, that begin with a text.

    A file that cannot be read gives none: a shell shows no errors while a person types. The file is not checked, so
    that a variable that is not set, or a mistake elsewhere in the file, hides no table.
    """
    return sorted(name for name in _names() if name.startswith(incomplete))


def silver_names(incomplete: str) -> list[str]:
    """Return the silver tables of lake.yaml that begin with a text."""
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
