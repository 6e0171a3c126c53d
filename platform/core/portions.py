"""Divides items into portions that have at most a number of items and a size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def portions(
    items: Iterable[T],
    size: Callable[[T], int],
    *,
    max_items: int,
    max_size: int,
    ends_between: Callable[[T, T], bool] = lambda before, item: False,
) -> Iterator[list[T]]:
    """Divide items into portions, in order. An item above `max_size` is a portion by itself.

    Args:
        size: returns the size of an item, in the unit of `max_size`.
        max_items: number of items of a portion.
        max_size: sum of the sizes of a portion's items.
        ends_between: returns whether a portion ends between two items that follow each other.
    """
    portion: list[T] = []
    total = 0
    for item in items:
        added = size(item)
        if portion and (len(portion) == max_items or total + added > max_size or ends_between(portion[-1], item)):
            yield portion
            portion, total = [], 0
        portion.append(item)
        total += added
    if portion:
        yield portion
