"""`tidegate adopt` takes over a Delta table that others made. Without --yes it prints the plan."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.plans import AdoptAnswer, AdoptShareAnswer, refuse_to_apply
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.errors import DataError
from tidegate.platform.lake.aws.clients import caller
from tidegate.platform.operations.adopt import AdoptionPlan, Share, adopt_table, plan_adoption
from tidegate.platform.query.table_lookup import table_named


def run_adopt(
    console: Console,
    name: str,
    lake: Path | None,
    home: Path | None,
    *,
    yes: bool,
    enter: bool = False,
    as_json: bool = False,
) -> None:
    """Print the plan of an adoption, or adopt the table.

    Args:
        name: SQL name, key or `s3://` prefix of the table.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        yes: adopt the table; without it, only the plan is printed.
        enter: let objects enter that the table's log does not name.
        as_json: print only the plan, as one JSON object.

    Raises:
        CommandError: there is no such table, it cannot be adopted, Spark does not answer, or `as_json` and `yes` are
            given together.
    """
    refuse_to_apply(as_json=as_json, yes=yes)

    def say(line: str) -> None:
        console.print(Text(line))

    using = client(home, lake)
    with using.open_lake() as opened:
        table_key = table_named(opened, name)
        try:
            if as_json:
                print_answer(console, plan_answer(plan_adoption(opened, table_key)))
                return
            by = caller(using.settings.aws)
            plan = (
                adopt_table(opened, table_key, by=by, enter=enter, log=say)
                if yes
                else plan_adoption(opened, table_key, say)
            )
        except DataError as refused:
            raise CommandError(str(refused)) from None
    for line in plan_lines(plan, enter=enter):
        say(line)
    if yes and not plan.adopted:
        name = f"bronze.{plan.table.spec.name}"
        console.print(Text(f"\nDone: this table is {name} from version {plan.state.version + 1} on", style="bold"))
    if not yes and not plan.adopted and not plan.all_refusals(enter=enter):
        option = " --enter" if enter else ""
        console.print(Text(f"\nNothing was changed. To do it: tidegate adopt {name}{option} --yes", style="bold"))


def plan_answer(plan: AdoptionPlan) -> AdoptAnswer:
    """Return the plan for programs."""
    state = plan.state
    return AdoptAnswer(
        table=f"bronze.{plan.table.spec.name}",
        key=plan.table.table_key,
        location=plan.location,
        version=state.version,
        adopted=plan.adopted,
        features=state.features,
        columns=state.schema.sql(),
        partition_columns=state.schema.partitions,
        properties=state.properties,
        refusals=plan.refusals,
        kept=plan.kept,
        live=_share_answer(plan.live),
        left=_share_answer(plan.left),
        gone=_share_answer(plan.gone),
        again=_share_answer(plan.again),
        others=_share_answer(plan.others),
        recent_commits=plan.recent_commits,
    )


def plan_lines(plan: AdoptionPlan, *, enter: bool) -> list[str]:
    """Return what becomes of the table and of each object, one line each."""
    state, name = plan.state, f"bronze.{plan.table.spec.name}"
    if plan.unfinished:
        return [
            f"{plan.location} is {name} of this lake, and its ledger is not begun: `--yes`, or a run, finishes that"
        ]
    if plan.adopted:
        return [f"{plan.location} is {name} of this lake already: nothing is left to do"]
    if plan.entered is not None:
        enter = plan.entered
    quarantined = "are quarantined; `tidegate redrive --key` registers them"
    again = (
        f"  again    {plan.again.objects} objects whose rows left, with as many bytes, and younger than that: they "
        f"{quarantined}"
    )
    others = "are put into the inbox, for the next run" if enter else quarantined
    unknown = f" and unknown rows of {plan.live.uncounted} files" if plan.live.uncounted else ""
    partitions = f", by folders {', '.join(state.schema.partitions)}" if state.schema.partitions else ""
    lines = [
        f"{plan.location} becomes {name} ({plan.table.table_key}), registered:",
        f"  version  {state.version}, features {', '.join(state.features) or 'none'}",
        f"  columns  {state.schema.sql()}{partitions}",
        f"  live     {plan.live.objects} files with {plan.live.rows} rows{unknown}, {plan.live.size} bytes: none is "
        "read, written or added again",
        f"  left     {plan.left.objects} objects whose rows left the table before, and {plan.gone.objects} that are "
        "gone: none of them enters",
        f"  others   {plan.others.objects} objects that the log does not name, {plan.others.fitting} of them Parquet "
        f"with content: they {others}",
        *([again] if plan.again.objects else []),
        "  sets     the owner, and that deleted files and the log are kept for ten years",
        *(f"  stays    {line}" for line in plan.kept),
    ]
    if plan.recent_commits:
        lines.append(
            f"  WARNING  {plan.recent_commits} commits came in the last 15 minutes: a writer that continues is not "
            "stopped by this, and its files would be in the table twice. docs/guides/adopt.md has the order"
        )
    return [*lines, *(f"  REFUSED  {refusal}" for refusal in plan.all_refusals(enter=enter))]


def _share_answer(share: Share) -> AdoptShareAnswer:
    return AdoptShareAnswer(
        objects=share.objects, bytes=share.size, rows=share.rows, fitting=share.fitting, uncounted=share.uncounted
    )
