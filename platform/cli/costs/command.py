"""The options of `tidegate cost`."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.platform.cli.options import AsJson, LakeFile, RunningHome
from tidegate.platform.cli.terminal import command_console


def cost(
    table: Annotated[str, typer.Argument(help="SQL name, key or s3:// prefix; default: every table.")] = "",
    months: Annotated[
        int | None, typer.Option(min=1, max=36, help="Number of months, this one among them; default: of lake.yaml.")
    ] = None,
    fresh: Annotated[
        int | None, typer.Option(min=0, help="Seconds by which settings may delay a row; default: of lake.yaml.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of tables.")] = 50,
    home: RunningHome = None,
    lake: LakeFile = None,
    as_json: AsJson = False,
) -> None:
    """Print what the tables cost, by month and service, and which settings would cost less."""
    from tidegate.platform.cli.costs.cost import CostsQuestion, run_cost
    from tidegate.platform.cli.environment import client

    using = client(home, lake)
    with using.reaching_spark(), using.settings.opened() as opened:
        asked = CostsQuestion(table, months, fresh, limit)
        run_cost(command_console(), opened, using.settings.lake_yaml, asked, as_json=as_json)
