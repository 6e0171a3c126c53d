"""Calls in parallel threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_THREADS = 32


def parallel(call: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Call a function for each item in up to 32 threads, and yield the results in the order of the items."""
    todo = list(items)
    if not todo:
        return
    with ThreadPoolExecutor(min(_THREADS, len(todo))) as pool:
        yield from pool.map(call, todo)


def parallel_caught(call: Callable[[T], R], items: Iterable[T]) -> Iterator[R | Exception]:
    """Like `parallel`, with the error of a call in place of its result."""

    def caught(item: T) -> R | Exception:
        try:
            return call(item)
        except Exception as error:
            return error

    return parallel(caught, items)
