"""Prefixes of which one may be inside another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence


def outermost(prefixes: Iterable[str]) -> list[str]:
    """Return the prefixes that are inside no other one, in order."""
    found: list[str] = []
    for prefix in sorted(prefixes):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return found


def place_of(text: str, prefixes: Sequence[str]) -> int | None:
    """Return the place of the prefix that a text begins with, or None.

    It takes as many comparisons as the number of prefixes has binary digits, whatever that number is.

    Args:
        text: a key or an address.
        prefixes: in order, and none inside another.
    """
    # Only the last one that sorts before the text can be its beginning.
    place = bisect_right(prefixes, text) - 1
    return place if place >= 0 and text.startswith(prefixes[place]) else None
