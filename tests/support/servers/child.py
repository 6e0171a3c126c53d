"""Child processes that do not outlive the test's process, whatever ends it.

This does not use `preexec_fn`: that forks, and if gRPC has threads, its handlers may hang in the child for ever.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def end_with_parent(number: signal.Signals = signal.SIGTERM) -> None:
    """Ask Linux to send this process a signal when its parent ends. Call it in the child."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def ending_with_us(python: str | Path, *arguments: str) -> list[str]:
    """Return the command `python arguments…`, for a process that ends with its parent."""
    return [str(python), "-I", "-S", __file__, str(python), *arguments]


if __name__ == "__main__":
    end_with_parent()  # the setting stays when another program replaces this one
    os.execv(sys.argv[1], sys.argv[1:])
