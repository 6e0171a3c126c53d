"""Messages that were received and are not worked off yet: other consumers do not get them meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from tidegate.resources.aws.sqs import Message, Queue


class HeldMessages:
    """Hides them anew each time that half of the queue's visibility timeout is over, until they are removed.

    What cannot be hidden comes back early and is a duplicate then, so a failure here is none of the tick's. When the
    process dies nothing is hidden any more, and the messages come back at the timeout.

    Args:
        queue: where they were received.
        seconds: from now; after that nothing is hidden anew. With 0 nothing is at all.
    """

    def __init__(self, queue: Queue, seconds: float) -> None:
        self._queue = queue
        self._until = time.monotonic() + seconds
        self._held: dict[str, Message] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._hides = seconds > 0

    def add(self, messages: Iterable[Message]) -> None:
        """Hide these from now on."""
        with self._changed:
            self._held.update((one.receipt, one) for one in messages)
            if self._hides and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="held-messages", daemon=True)
                self._thread.start()

    def remove(self, messages: Iterable[Message]) -> None:
        """These are worked off."""
        with self._changed:
            for one in messages:
                self._held.pop(one.receipt, None)

    def close(self) -> None:
        """Hide nothing any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            try:
                timeout = self._queue.visibility
            except (BotoCoreError, ClientError):
                return  # The check of the queues says what is wrong with it.
            if timeout < 1:
                return  # Somebody wants its messages to be seen by everybody at once.
            with self._changed:
                if self._changed.wait_for(lambda: self._closed, timeout / 2) or time.monotonic() > self._until:
                    return
                held = list(self._held.values())
            try:
                self._queue.hide(held, timeout)
            except (BotoCoreError, ClientError):
                continue
