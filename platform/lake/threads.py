"""Calls in parallel threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

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
    """Like `parallel`, with the error of a call in place of its result."""

    def caught(item: T) -> R | Exception:
        try:
            return call(item)
        except Exception as error:
            return error

    return parallel(caught, items)
