"""The death of a process at a seam, by SIGKILL."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tidegate.platform.core import seams


def die_at(seam: str, marker: Path) -> None:
    """Let this process die when it reaches a seam.

    Args:
        seam: the seam.
        marker: a file that is written before. It distinguishes a seam that was reached from one that was not.
    """

    def die(name: str) -> None:
        if name == seam:
            marker.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)

    seams.actions.append(die)
