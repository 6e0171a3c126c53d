"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
