"""Child processes that do not outlive the test's, whatever ends it."""

from __future__ import annotations

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1


def end_with_parent(number: signal.Signals = signal.SIGTERM) -> None:
    """Ask Linux to send this process a signal when its parent is gone; to be called in the child."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
