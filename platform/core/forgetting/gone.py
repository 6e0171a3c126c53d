"""How much left each table for a request to forget persons, whichever of its calls took it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class GoneRows:
    """What left a table: rows of bronze and silver, and lines and messages of objects of the lake.

    Attributes:
        table: SQL name.
        bronze: rows.
        silver: rows.
        kept: lines and messages.
        emptied: rows of others in silver that lost a value which bronze does not give again.
    """

    table: str
    bronze: int
    silver: int
    kept: int
    emptied: int = 0


def gone(
    found: Sequence[Mapping[str, Any]], earlier: Sequence[Mapping[str, Any]] | None, now: Sequence[GoneRows]
) -> list[GoneRows]:
    """Returns what has left each table, after a search that found nothing more.

    Args:
        found: what the tables had before anything was deleted, as the note `found` has it. A call that died may have
            taken out a part of it.
        earlier: what had left when such a search found nothing before, as the note `erased` has it; None if there was
            none. What left since came later.
        now: what this call took out.
    """
    if earlier is not None:
        counts = {one["table"]: GoneRows(**one) for one in earlier}
        return [*_joined(counts, now, int.__add__).values()]
    counts = {
        one["table"]: GoneRows(one["table"], one["bronze"], one["silver"], sum(one["kept"].values())) for one in found
    }
    # Rows may have come between the count and the deletion, so that more left than was found.
    return [*_joined(counts, now, max).values()]


def _joined(counts: Mapping[str, GoneRows], others: Sequence[GoneRows], join: Any) -> dict[str, GoneRows]:
    joined = dict(counts)
    for other in others:
        one = joined.get(other.table, GoneRows(other.table, 0, 0, 0))
        joined[other.table] = GoneRows(
            other.table,
            join(one.bronze, other.bronze),
            join(one.silver, other.silver),
            join(one.kept, other.kept),
            one.emptied + other.emptied,
        )
    return joined
