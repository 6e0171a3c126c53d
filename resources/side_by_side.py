"""Calls of what may be in trouble, side by side: none waits for another, and who asks waits for none for ever."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Outcome(Generic[T, R]):
    """What came of a call for an item.

    Attributes:
        value: what it returned; None where it did not.
        error: what it raised; None where it did not.
        begun: whether it was begun at all.
    """

    item: T
    value: R | None = None
    error: Exception | None = None
    begun: bool = True

    @property
    def ended(self) -> bool:
        """Whether it returned or raised."""
        return self.value is not None or self.error is not None


class SideBySide(Generic[T, R]):
    """Calls for items, begun in order.

    A call that has not ended when nobody waits for it any more goes on by itself: its client's timeouts end it.

    Args:
        call: returns something that is not None.
        items: what it is called for.
        threads: calls that are under way at a time.
    """

    def __init__(self, call: Callable[[T], R], items: Iterable[T], threads: int) -> None:
        self._items = list(items)
        self._pool = ThreadPoolExecutor(max(1, min(threads, len(self._items))))
        self._calls: list[Future[R]] = [self._pool.submit(call, item) for item in self._items]

    def wait(self, seconds: float, only: Collection[T] | None = None) -> None:
        """Wait until the calls have ended, all or those for some items, but no longer than this."""
        calls = zip(self._items, self._calls, strict=True)
        wait([call for item, call in calls if only is None or item in only], max(0.0, seconds))

    def outcomes(self) -> list[Outcome[T, R]]:
        """What came of them, in order; nothing is begun any more.

        Raises:
            BaseException: what a call raised that is no Exception.
        """
        self._pool.shutdown(wait=False, cancel_futures=True)
        return [_outcome(item, call) for item, call in zip(self._items, self._calls, strict=True)]


def _outcome(item: T, call: Future[R]) -> Outcome[T, R]:
    if call.cancelled():
        return Outcome(item, begun=False)
    if not call.done():
        return Outcome(item)
    error = call.exception()
    if error is None:
        return Outcome(item, call.result())
    if not isinstance(error, Exception):
        raise error
    return Outcome(item, error=error)
