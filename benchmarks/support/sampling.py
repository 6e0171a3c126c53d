"""Samples during a block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def sampling(sample: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call `sample` every few seconds of the block, in a thread of its own."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(seconds):
            sample()

    sampler = threading.Thread(target=work, daemon=True)
    sampler.start()
    try:
        yield
    finally:
        ended.set()
        sampler.join()
