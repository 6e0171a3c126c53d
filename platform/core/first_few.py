"""The first texts of a list that may be long."""

from __future__ import annotations

from collections.abc import Sequence


def first_few(texts: Sequence[str], most: int, total: int | None = None) -> list[str]:
    """Returns the first texts, and after them the number of the others as a text, if there are others.

    Args:
        texts: the texts, or the first of them.
        most: maximum number of texts.
        total: number of all texts. None: `texts` has all.
    """
    more = (len(texts) if total is None else total) - len(texts[:most])
    return [*texts[:most], *([f"and {more:,} more"] if more > 0 else [])]
