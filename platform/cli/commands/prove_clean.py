"""`tidegate prove --clean` removes what earlier runs of `tidegate prove` left."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

from rich.console import Console

from tidegate.platform.cli.commands.spark import region_of
from tidegate.platform.cli.environment import environment_settings
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.wording import command, number_of, span
from tidegate.platform.prove.resources import Found, Left, Resources
from tidegate.platform.prove.run import is_running

#: A run of another machine may still work for so long.
_MAY_RUN_SECONDS = 6 * 3600


def run_prove_clean(console: Console, home: Path, only: str | None) -> bool:
    """Remove what earlier runs left. Returns whether nothing of theirs is left.

    Args:
        home: folder of the runs' local files.
        only: id of one run, which is removed in any case.

    Raises:
        UnavailableError: AWS refuses a list.
        CommandError: the run lives, on this machine.
    """
    settings = environment_settings()
    region_of(settings)
    resources = Resources(settings.aws)
    found, strange = resources.find()
    ids = sorted({each.mark.id for each in found if only in (None, each.mark.id)})
    if only is not None and is_running(home, only):
        raise CommandError(f"the run {only} lives on this machine: stop it with Ctrl-C, and it removes what it made")
    ended = [id for id in ids if only == id or _has_ended(console, home, id, found)]
    mine = [each for each in found if each.mark.id in ended]
    left = resources.remove(mine, lambda name: console.print(f"removing {name}", markup=False, highlight=False))
    for each in (*left, *(strange if only is None else ())):
        console.print(_left_line(each), markup=False, highlight=False, soft_wrap=True)
    console.print(f"{number_of(len(mine) - len(left), 'resource')} of {number_of(len(ended), 'run')} removed")
    return not left


def _has_ended(console: Console, home: Path, id: str, found: Collection[Found]) -> bool:
    lives = is_running(home, id)
    if lives is None:
        age = time.time() - min(each.mark.made for each in found if each.mark.id == id)
        if age > _MAY_RUN_SECONDS:
            return True
        why = f"began {span(age)} ago and may live on another machine: {command('prove', '--clean', '--run', id)}"
    elif lives:
        why = "lives on this machine"
    else:
        return True
    console.print(f"left: the run {id} {why}", markup=False, highlight=False, soft_wrap=True)
    return False


def _left_line(each: Left) -> str:
    return f"left: {each.kind} {each.name}: {each.why}. If it is yours: {each.command}"
