"""Seams: the points between two steps, at which tests stop this process or let it die.

So every interleaving of a crash can be made to happen. What happens at a seam is defined by the tests, and by the
worker of `tidegate prove`, which dies where it is asked to.
"""

from __future__ import annotations

from collections.abc import Callable

#: Called with the name of each seam that this process reaches. No other process of Tidegate adds one.
actions: list[Callable[[str], None]] = []


def seam(name: str) -> None:
    """Mark the point between two steps."""
    for action in actions:
        action(name)
