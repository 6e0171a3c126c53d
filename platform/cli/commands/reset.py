"""`tidegate reset` starts a table over. Without --yes it prints the plan."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.plans import ResetAnswer, refuse_to_apply
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.errors import DataError
from tidegate.platform.lake.aws.clients import caller
from tidegate.platform.lake.lake import Lake
from tidegate.platform.operations.reset import ResetPlan, plan_reset, reset_table
from tidegate.platform.query.table_lookup import table_named


def run_reset(
    console: Console,
    name: str,
    lake: Path | None,
    home: Path | None,
    *,
    yes: bool,
    accept_loss: bool,
    as_json: bool = False,
) -> None:
    """Print the plan of a reset, or reset the table.

    Args:
        name: SQL name, key or `s3://` prefix of the table.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        yes: reset the table; without it, only the plan is printed.
        accept_loss: reset even if some rows will not come back.
        as_json: print only the plan, as one JSON object.

    Raises:
        CommandError: there is no such table, the reset is refused, Spark does not answer, or `as_json` and `yes` are
            given together.
    """
    refuse_to_apply(as_json=as_json, yes=yes)
    using = client(home, lake)
    with using.open_lake() as opened:
        table_key = table_named(opened, name)
        try:
            if yes:
                reset_table(
                    opened,
                    table_key,
                    by=caller(using.settings.aws),
                    accept_loss=accept_loss,
                    log=lambda line: console.print(Text(line)),
                )
            elif as_json:
                print_answer(console, plan_answer(plan_reset(opened, table_key)))
            else:
                for line in plan_lines(opened, plan_reset(opened, table_key)):
                    console.print(Text(line))
                console.print(Text(f"\nNothing was changed. To do it: tidegate reset {name} --yes", style="bold"))
        except DataError as refused:
            hint = "" if accept_loss or "accept the loss" not in str(refused) else " (--accept-loss)"
            raise CommandError(f"{refused}{hint}") from None


def plan_answer(plan: ResetPlan) -> ResetAnswer:
    """Return the plan for programs."""
    return ResetAnswer(
        table=plan.birth.name,
        key=plan.table.table_key,
        new_name=plan.table.spec.name,
        mode=plan.mode,
        mode_before=plan.birth.mode,
        location=plan.location,
        objects=plan.objects,
        batches=plan.n,
        committed=plan.committed,
        rows=plan.rows,
        live_files=plan.live_files,
        lost=plan.lost,
        lost_rows=plan.lost_rows,
    )


def plan_lines(lake: Lake, plan: ResetPlan) -> list[str]:
    """Return what happens to the table, its rows, its ledger and its silver table, one line each."""
    birth, table_key = plan.birth, plan.table.table_key
    ways = {
        "register": "registered where its files are",
        "load": "loaded",
        "repartition": "an output",
        "convert": "an output of Parquet",
        "concatenate": "an output of larger Parquet files",
    }
    mode = ways[plan.mode]
    if plan.mode != birth.mode:
        mode += f" (until now: {ways[birth.mode]})"
    rows = (
        f"{plan.live_files} live files leave the table in one commit, no file is deleted; the versions before can be "
    )
    rows += "read until a VACUUM"
    if birth.output:
        rows = f"the objects of the old generation stay in the output; their names have -{birth.generation}."
    columns = f"come from the first files and lake.yaml again; the table stays at {plan.location}"
    if output := plan.table.spec.output:
        known = columns.partition(";")[0] if plan.mode == "convert" else "there are none"
        columns = f"{known}; each row is written to {output.folder}"
        if birth.output:
            columns += " AGAIN: delete the objects of the old generation before, or give `output` another folder"
    lines = [
        f"{'' if birth.output else 'bronze.'}{birth.name} ({table_key}) would start over, {mode}:",
        f"  rows     {rows}",
        f"  files    {plan.objects} objects under {plan.table.key.uri} are read again by the next run, "
        "quarantined ones too; none of them is touched",
        f"  ledger   {plan.n} batches and {plan.committed} committed objects ({plan.rows} rows) stay readable at "
        f"{plan.table.ledger.location}; the new one begins with batch 1",
        f"  columns  {columns}",
    ]
    if plan.renamed:
        lines.append(f"  NAME     {plan.renamed}")
    if plan.table.spec.silver:
        lines.append(f"  silver   silver.{birth.name} keeps its rows; its next merge reads the whole table")
    if plan.lost:
        lines.append(
            f"  LOST     {plan.lost_rows} rows of {len(plan.lost)} objects that S3 no longer has, or with other "
            f"bytes, do not come back: {', '.join(plan.lost[:5])}{', …' if len(plan.lost) > 5 else ''}"
        )
    return lines
