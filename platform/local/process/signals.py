"""Waits for the signal that ends a process which runs until then."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType


def wait_for_signal(tick: Callable[[], None]) -> int:
    """Wait, in the main thread, until SIGINT or SIGTERM. Returns the number of the signal.

    Args:
        tick: called about once a second; an error of it ends the wait.
    """
    came = threading.Event()
    number = 0

    def note(received: int, frame: FrameType | None) -> None:
        nonlocal number
        number = received
        came.set()

    before = {each: signal.signal(each, note) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        while not came.wait(1.0):
            tick()
        return number
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
