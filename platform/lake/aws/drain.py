"""Receives messages in several threads, and hands them out in chunks.

Other consumers do not receive the messages until they are processed, or given up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, Protocol, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

#: Messages of one chunk, which is processed while more are received: smaller chunks would make many small manifests. At
#: most twice as many are held: their visibility runs out, and so does the tick's time.
_CHUNK = 4000
#: Characters of bodies of one chunk, whatever their number. At most twice as many are held. A body has up to a
#: million.
_CHUNK_SIZE = 16 << 20


class SizedMessage(Protocol):
    """A message with a text."""

    @property
    def body(self) -> str:
        """The text."""


M = TypeVar("M", bound=SizedMessage)


class DrainLimits:
    """The limits of a drain after a first receive that found messages. This class has no limits: the drain is alone.

    Attributes:
        part: the drain holds at most one `part`-th of the messages that a drain alone may hold.
    """

    part = 1

    def slot(self) -> AbstractContextManager[None]:
        """Return a context that is entered before more is received, and left when all of it is processed."""
        return nullcontext()

    def may_receive(self, received: int) -> bool:
        """Return whether more messages may be received after so many."""
        return True


class Drain(Generic[M]):
    """The receivers of one queue, and the messages that they received and nobody has taken yet.

    Args:
        receive: receives messages, with the seconds that are left as its argument. No messages end the receiver.
        first: messages that were received already.
        deadline: end of the receives, by `time.monotonic`.
        messages: number of messages after which no receive begins.
        threads: number of receivers.
        limits: limits that are shared with other drains.
    """

    def __init__(
        self,
        receive: Callable[[float], list[M]],
        first: list[M],
        *,
        deadline: float,
        messages: int,
        threads: int,
        limits: DrainLimits,
    ) -> None:
        self._receive = receive
        self._deadline = deadline
        self._messages = messages
        self._limits = limits
        self._chunk, self._chunk_size = _CHUNK // limits.part, _CHUNK_SIZE // limits.part
        self._changed = threading.Condition()
        self._held, self._size, self._total = first, _characters(first), len(first)
        self._threads = self._working = threads
        self._closed = False

    def chunks(self) -> Generator[list[M]]:
        """Yield the received messages in chunks until all receivers have ended. Close the iterator to stop.

        Raises:
            Exception: the error of a receive, after all received messages were yielded.
        """
        with self._limits.slot(), ThreadPoolExecutor(self._threads) as pool:
            receivers = [pool.submit(self._work) for _ in range(self._threads)]
            try:
                while self._working or self._held:
                    if chunk := self._take():
                        yield chunk
            finally:
                with self._changed:
                    self._closed = True
                    self._changed.notify_all()
        for receiver in receivers:
            receiver.result()

    def _take(self) -> list[M]:
        with self._changed:
            self._changed.wait_for(self._is_enough)
            chunk, self._held, self._size = self._held, [], 0
            self._changed.notify_all()
        return chunk

    def _work(self) -> None:
        try:
            while (left := self._deadline - time.monotonic()) > 0 and self._total < self._messages and not self._closed:
                if not self._limits.may_receive(self._total):
                    return
                received = self._receive(left)
                if not received:
                    return
                with self._changed:
                    self._held.extend(received)
                    self._total += len(received)
                    self._size += _characters(received)
                    self._changed.notify_all()
                    self._changed.wait_for(self._has_room)
        finally:
            with self._changed:
                self._working -= 1
                self._changed.notify_all()

    def _is_enough(self) -> bool:
        return not self._working or len(self._held) >= self._chunk or self._size >= self._chunk_size

    def _has_room(self) -> bool:
        return self._closed or (len(self._held) < 2 * self._chunk and self._size < 2 * self._chunk_size)


def _characters(messages: Sequence[SizedMessage]) -> int:
    return sum(len(message.body) for message in messages)


class Received(Protocol):
    """A received message."""

    @property
    def receipt(self) -> str:
        """The handle that SQS gave with it."""


H = TypeVar("H", bound=Received)


class HeldMessages(Generic[H]):
    """Hides messages again each time that half of the queue's visibility timeout is over, until they are removed.

    A message that cannot be hidden comes back early and is a duplicate then, so a failure here does not fail the tick.
    When the process dies nothing is hidden any more, and the messages come back at the timeout.

    Args:
        hide: sets the visibility timeout of messages, in seconds.
        visibility: returns the queue's own visibility timeout, in seconds.
        seconds: from now; after that nothing is hidden again. With 0 nothing is hidden at all.
    """

    def __init__(self, hide: Callable[[list[H], int], object], visibility: Callable[[], int], seconds: float) -> None:
        self._hide = hide
        self._visibility = visibility
        self._until = time.monotonic() + seconds
        self._held: dict[str, H] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._hides = seconds > 0

    def add(self, messages: Iterable[H]) -> None:
        """Hide these messages from now on."""
        with self._changed:
            self._held.update((message.receipt, message) for message in messages)
            if self._hides and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="held-messages", daemon=True)
                self._thread.start()

    def remove(self, messages: Iterable[H]) -> None:
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
