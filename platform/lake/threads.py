"""Calls in parallel threads.

Some call services that may hang: there no call waits for another, and the caller never waits for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_THREADS = 32


def parallel(call: Callable[[T], R], items: Iterable[T], threads: int = _THREADS) -> Iterator[R]:
    """Call a function for each item in some threads, and yield the results in the order of the items.

    The calls have the limit of time, and the other context variables, of the thread that asks for their results.
    """
    todo = list(items)
    if not todo:
        return
    with ThreadPoolExecutor(min(threads, len(todo))) as pool:
        contexts = [copy_context() for _ in todo]
        yield from pool.map(lambda context, item: context.run(call, item), contexts, todo)


def parallel_outcomes(call: Callable[[T], R], items: Iterable[T]) -> Iterator[R | Exception]:
    """Call a function as `parallel` does, with the error of a call in place of its result."""

    def call_safely(item: T) -> R | Exception:
        try:
            return call(item)
        except Exception as error:
            return error

    return parallel(call_safely, items)


@dataclass(frozen=True)
class Outcome(Generic[T, R]):
    """The outcome of a call for an item.

    Attributes:
        value: the returned value; None if the call did not return.
        error: the raised error; None if it raised none.
        begun: whether the call was begun at all.
    """

    item: T
    value: R | None = None
    error: Exception | None = None
    begun: bool = True

    @property
    def ended(self) -> bool:
        """Whether the call returned or raised."""
        return self.value is not None or self.error is not None


class ConcurrentCalls(Generic[T, R]):
    """Calls for items, begun in the order of the items.

    A call that has not ended when the wait ends continues by itself, until its client's timeouts end it.

    Args:
        call: the function. It returns a value that is not None.
        items: the arguments of the calls.
        threads: number of calls that run at a time.
    """

    def __init__(self, call: Callable[[T], R], items: Iterable[T], threads: int) -> None:
        self._items = list(items)
        self._pool = ThreadPoolExecutor(max(1, min(threads, len(self._items))))
        self._calls: list[Future[R]] = [self._pool.submit(call, item) for item in self._items]

    def wait(self, seconds: float, only: Collection[T] | None = None) -> None:
        """Wait until all calls, or the calls for some items, have ended, but no longer than so many seconds."""
        calls = zip(self._items, self._calls, strict=True)
        wait([call for item, call in calls if only is None or item in only], max(0.0, seconds))

    def outcomes(self) -> list[Outcome[T, R]]:
        """Return the outcomes, in the order of the items. No further call is begun.

        Raises:
            BaseException: a call raised it, and it is not an Exception.
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
