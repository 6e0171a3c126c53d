"""Seams at which a test stops this process, so that every interleaving of a crash can be made to happen."""

from __future__ import annotations

import os
import signal
from pathlib import Path

_VARIABLE = "TIDEGATE_FAILPOINT"


def seam(name: str) -> None:
    """Mark the point between two steps. Does nothing unless TIDEGATE_FAILPOINT names it.

    The variable reads `<seam>:<action>:<marker file>`. The marker file is written first, so that a test can
    distinguish a seam that was reached from one that was not. Actions: `kill` (SIGKILL to this process) and `stop`
    (SIGSTOP, until the test sends SIGCONT). If the marker file exists, the seam does nothing: it acts once.

    Raises:
        AssertionError: the variable names an unknown action.
    """
    wanted = os.environ.get(_VARIABLE)
    if not wanted:
        return
    seam_name, action, marker = wanted.split(":", 2)
    if seam_name != name or Path(marker).exists():
        return
    signals = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
    if action not in signals:
        raise AssertionError(f"{_VARIABLE}={wanted}: the action must be one of {sorted(signals)}")
    Path(marker).write_text(str(os.getpid()))
    os.kill(os.getpid(), signals[action])
