"""Which lake a command talks to: a running local platform's, or the environment's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.local.stack_file import StackInfo, find_stack

#: Homes of `tidegate demo` and of `tidegate up` and `dev`, below the working directory.
DEFAULT_HOMES = (Path(".tidegate/demo"), Path(".tidegate/local"))


def use_stack(home: Path | None, fits: Callable[[StackInfo], bool] = lambda _: True) -> Path | None:
    """Make this process a client of a running local platform.

    Args:
        home: its home; None looks into the default ones.
        fits: which of the default ones may be taken.

    Returns:
        The home of the platform now in use; None when none runs, and the environment stays as it is.

    Raises:
        CommandError: a home is given, and nothing runs there.
    """
    for candidate in DEFAULT_HOMES if home is None else (home,):
        info = find_stack(candidate)
        if info is not None and (home is not None or fits(info)):
            os.environ.update(info.environ)
            return candidate
    if home is not None:
        raise CommandError(
            f"no local platform runs on {home}: start one with `tidegate dev --home {home}` or "
            "`tidegate demo --keep`, or leave --home out"
        )
    return None
