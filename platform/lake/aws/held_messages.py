"""Messages that were received and are not processed yet: other consumers do not receive them meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from botocore.exceptions import BotoCoreError, ClientError


class Received(Protocol):
    """A received message."""

    @property
    def receipt(self) -> str:
        """The handle that SQS gave with it."""


M = TypeVar("M", bound=Received)


class HeldMessages(Generic[M]):
    """Hides messages again each time that half of the queue's visibility timeout is over, until they are removed.

    A message that cannot be hidden comes back early and is a duplicate then, so a failure here does not fail the tick.
    When the process dies nothing is hidden any more, and the messages come back at the timeout.

    Args:
        hide: sets the visibility timeout of messages, in seconds.
        visibility: returns the queue's own visibility timeout, in seconds.
        seconds: from now; after that nothing is hidden again. With 0 nothing is hidden at all.
    """

    def __init__(self, hide: Callable[[list[M], int], object], visibility: Callable[[], int], seconds: float) -> None:
        self._hide = hide
        self._visibility = visibility
        self._until = time.monotonic() + seconds
        self._held: dict[str, M] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._hides = seconds > 0

    def add(self, messages: Iterable[M]) -> None:
        """Hide these messages from now on."""
        with self._changed:
            self._held.update((message.receipt, message) for message in messages)
            if self._hides and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="held-messages", daemon=True)
                self._thread.start()

    def remove(self, messages: Iterable[M]) -> None:
        """Stop hiding these messages: they are processed."""
        with self._changed:
            for message in messages:
                self._held.pop(message.receipt, None)

    def close(self) -> None:
        """Stop hiding."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            try:
                timeout = self._visibility()
            except (BotoCoreError, ClientError):
                return  # The check of the queues reports what is wrong with it.
            if timeout < 1:
                return  # The queue is set to show its messages to every consumer at once.
            with self._changed:
                if self._changed.wait_for(lambda: self._closed, timeout / 2) or time.monotonic() > self._until:
                    return
                held = list(self._held.values())
            try:
                self._hide(held, timeout)
            except (BotoCoreError, ClientError):
                continue
