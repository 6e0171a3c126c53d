"""`tidegate rebuild` reads every file of a loaded table again, or computes a silver table from bronze again.

Without --yes it prints the plan.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.plans import BronzeRebuildAnswer, RebuildAnswer, SilverRebuildAnswer, refuse_to_apply
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.after_load import move_target
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.wording import first_texts
from tidegate.platform.lake.aws.clients import caller
from tidegate.platform.lake.lake import Lake
from tidegate.platform.operations.rebuild import RebuildPlan, plan_rebuild, rebuild_table
from tidegate.platform.operations.silver_rebuild import (
    SilverRebuildPlan,
    is_silver,
    only_silver_since,
    plan_silver_rebuild,
    rebuild_silver,
)
from tidegate.platform.query.table_lookup import table_named

_SHOWN = 20


def run_rebuild(
    console: Console,
    name: str,
    lake: Path | None,
    home: Path | None,
    *,
    yes: bool,
    since: int | None = None,
    as_json: bool = False,
) -> None:
    """Print the plan of a rebuild, or request the rebuild.

    Args:
        name: SQL name, key or `s3://` prefix of the table.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        yes: request the rebuild; without it, only the plan is printed.
        since: of a silver table, only keys with a row of this batch or later. None: all keys.
        as_json: print only the plan, as one JSON object.

    Raises:
        CommandError: there is no such table, the rebuild is refused, Spark does not answer, or `as_json` and `yes` are
            given together.
    """
    refuse_to_apply(as_json=as_json, yes=yes)

    def say(line: str, style: str = "") -> None:
        console.print(Text(line, style=style))

    if since is not None and not is_silver(name):
        raise CommandError(only_silver_since(name))
    using = client(home, lake)
    with using.open_lake() as opened:
        if as_json:
            print_answer(console, _plan_rebuild(opened, name, since))
            return
        by = caller(using.settings.aws)
        if is_silver(name):
            _rebuild_silver(opened, name, by, say, yes=yes, since=since)
            return
        table_key = table_named(opened, name)
        try:
            found = rebuild_table(opened, table_key, by=by, log=say) if yes else plan_rebuild(opened, table_key)
        except DataError as refused:
            raise CommandError(str(refused)) from None
        for line in plan_lines(opened, found):
            say(line)
        if not yes:
            say(f"\nNothing was changed. To do it: tidegate rebuild {name} --yes", "bold")


def _plan_rebuild(lake: Lake, name: str, since: int | None) -> RebuildAnswer:
    try:
        return RebuildAnswer(
            silver_plan_answer(plan_silver_rebuild(lake, name, since))
            if is_silver(name)
            else plan_answer(plan_rebuild(lake, table_named(lake, name)))
        )
    except (DataError, ValueError) as refused:
        raise CommandError(str(refused)) from None


def plan_answer(plan: RebuildPlan) -> BronzeRebuildAnswer:
    """Return the plan of a loaded table for programs."""
    return BronzeRebuildAnswer(
        table=f"bronze.{plan.name}",
        key=plan.table.table_key,
        batch=plan.n,
        files=plan.again,
        other_files=plan.others,
        bytes=plan.size,
        kept=tuple(reading.key for reading in plan.kept),
        kept_rows=plan.kept_rows,
        waiting=plan.waiting,
    )


def silver_plan_answer(plan: SilverRebuildPlan) -> SilverRebuildAnswer:
    """Return the plan of a silver table for programs."""
    return SilverRebuildAnswer(
        table=f"silver.{plan.spec.name}",
        key=plan.spec.table_key.encode(),
        batch=plan.n,
        from_batch=plan.since or 1,
        files=plan.files,
        replaced_files=plan.old_files,
    )


def _rebuild_silver(lake: Lake, name: str, by: str, say: Callable[..., None], *, yes: bool, since: int | None) -> None:
    try:
        for line in plan_silver_rebuild(lake, name, since).lines:
            say(line)
        if not yes:
            option = "" if since is None else f" --from-batch {since}"
            say(f"\nNothing was changed. To do it: tidegate rebuild {name}{option} --yes", "bold")
            return
        merged = rebuild_silver(lake, name, by=by, log=say, since=since)
    except (DataError, ValueError) as refused:
        raise CommandError(str(refused)) from None
    say(f"{merged.inserted} rows inserted, {merged.updated} written again, {merged.deleted} deleted", "bold")


def plan_lines(lake: Lake, plan: RebuildPlan) -> list[str]:
    """Return what happens to the files, rows and silver table, one line each."""
    name = f"bronze.{plan.name}"
    lines = [
        f"{name} ({plan.table.table_key}) is read again with today's lake.yaml:",
        f"  files    {plan.again} files that are in the table, {plan.size} bytes with the others; the rows of each "
        "are replaced in the commit that has its new ones",
    ]
    if plan.others:
        lines.append(
            f"  others   {plan.others} files that are not in the table (quarantined, or never announced) are tried"
        )
    if plan.table.spec.silver:
        lines.append(f"  silver   silver.{plan.name} is merged from all of bronze after each commit that replaced rows")
    if plan.kept:
        keys = [item.key for item in plan.kept]
        lines += [
            f"  KEPT     {plan.kept_rows} rows stay as they are: S3 no longer has their files, or has other bytes",
            *(f"             {text}" for text in first_texts(keys, _SHOWN)),
        ]
        if folder := move_target(plan.table.spec.after_load):
            page = "docs/guides/after-load.md"
            lines.append(f"             after_load moved files to {folder}: {page} says how to bring them back")
    if plan.waiting:
        lines.append(f"  before   {plan.waiting} files of an earlier rebuild still wait; none of them is read twice")
    lines.append(
        f"  how far  SELECT _source_path, count(*) FROM {name} WHERE _batch <= {plan.n} GROUP BY 1: not yet, or kept"
    )
    return lines
