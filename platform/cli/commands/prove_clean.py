"""`tidegate prove --clean` removes what earlier runs of `tidegate prove` left."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path

from rich.console import Console

from tidegate.platform.cli.commands.spark import region_of
from tidegate.platform.cli.environment import environment_settings
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.wording import command, number_of, span
from tidegate.platform.prove.locks import is_running, remove_ended_runs
from tidegate.platform.prove.resources import Found, Left, Resources

#: A run of another machine may still work for so long.
_MAY_RUN_SECONDS = 6 * 3600


def run_prove_clean(console: Console, home: Path, only: str | None, ask: Callable[[str], bool]) -> bool:
    """Remove what earlier runs left. Returns whether nothing of theirs is left.

    Args:
        home: folder of the runs' local files.
        only: id of one run, which is removed in any case.
        ask: asks a person a question.

    Raises:
        UnavailableError: AWS refuses a list.
        CommandError: the run lives, on this machine, or nothing of it is there; or nobody can be asked.
    """
    settings = environment_settings()
    region = region_of(settings)
    resources = Resources(settings.aws)
    found, strange = resources.find()
    if only is not None and is_running(only):
        raise CommandError(f"the run {only} lives on this machine: stop it with Ctrl-C, and it removes what it made")
    ids = sorted({each.mark.id for each in found if only in (None, each.mark.id)})
    if only is not None and not ids:
        raise CommandError(
            f"no resource has the marker of the run {only}, in {region} and with these credentials: `tidegate prove "
            "--clean` lists what it finds"
        )
    ended = [id for id in ids if only == id or _has_ended(console, id, found)]
    mine = [each for each in found if each.mark.id in ended]
    what = f"{number_of(len(mine), 'resource')} of {number_of(len(ended), 'run')}"
    if mine and not ask(f"Remove {what} ({', '.join(ended)})?"):
        console.print("Nothing was removed.")
        return False
    left = resources.remove(mine, lambda name: console.print(f"removing {name}", markup=False, highlight=False))
    for each in (*left, *(strange if only is None else ())):
        console.print(_left_line(each), markup=False, highlight=False, soft_wrap=True)
    remove_ended_runs(home, [each.mark.id for each in found if each.mark.id not in ended or left])
    console.print(
        f"{number_of(len(mine) - len(left), 'resource')} of {number_of(len(ended), 'run')} removed. Queues and tables "
        f"were searched in {region} only",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    return not left


def _has_ended(console: Console, id: str, found: Collection[Found]) -> bool:
    """Return whether a run may be removed although nobody named it. If not, the reason is printed."""
    marks, lives = [each.mark for each in found if each.mark.id == id], is_running(id)
    age = time.time() - min(mark.made for mark in marks)
    if lives:
        why = "lives on this machine"
    elif any(mark.kept for mark in marks):
        why = f"was kept: {command('prove', '--clean', '--run', id)}"
    elif lives is None and age <= _MAY_RUN_SECONDS:
        why = f"began {span(age)} ago and may live on another machine: {command('prove', '--clean', '--run', id)}"
    else:
        return True
    console.print(f"left: the run {id} {why}", markup=False, highlight=False, soft_wrap=True)
    return False


def _left_line(each: Left) -> str:
    return f"left: {each.kind} {each.name}: {each.why}. If it is yours: {each.command}"
