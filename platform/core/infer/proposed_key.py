"""The key that `tidegate infer` proposes for a feed, with what proves it, or what contradicts a guess."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.platform.core.infer.sampled_changes import SampledChange
from tidegate.platform.core.schema.column_types import folded
from tidegate.platform.core.wording import number_of, one_line

_MAX_VALUE = 60


@dataclass(frozen=True)
class ProposedKey:
    """Columns that may be the key.

    Attributes:
        columns: their names; empty if nobody knows.
        note: what proves them, or that they are a guess. A sentence.
    """

    columns: tuple[str, ...]
    note: str


def proposed_key(fields: Sequence[str], changes: Sequence[SampledChange]) -> ProposedKey:
    """Returns the key that the changes of a sample prove, or else a guess that none of them contradicts.

    Args:
        fields: the columns of the database's table.
        changes: the changes of the sample.
    """
    named = {change.named for change in changes if change.named}
    if len(named) == 1:
        (names,) = named
        return ProposedKey(names, f"keys: the rows name {_listed(names)} as the primary key")
    if (given := _columns_of_deletes(changes)) and _contradiction(given, changes) is None:
        return ProposedKey(given, f"keys: deletes have a value of {_listed(given)} only, which is the key")
    guess = _likely(fields)
    if guess is None:
        return ProposedKey((), "keys: nothing in these files shows the primary key of the table; write its columns")
    if why := _contradiction((guess,), changes):
        return ProposedKey((), f"keys: {guess} alone is not the key: {why}. Write the columns of the primary key")
    inserts = sum(change.kind in ("insert", "read") for change in changes)
    seen = f"no two of {number_of(inserts, 'insert')} share a value" if inserts > 1 else "no rows were compared"
    return ProposedKey(
        (guess,), f"keys is a guess by the name {guess} ({seen}): compare it with the primary key of the table"
    )


def _columns_of_deletes(changes: Sequence[SampledChange]) -> tuple[str, ...]:
    """Returns the columns that deletes have a value of, if deletes have the key only; empty if they do not show it.

    Deletes of other databases, or with REPLICA IDENTITY FULL, have the whole row. They have the key only if a column
    that every inserted row has is in none of them.
    """
    deletes = [set(change.values) for change in changes if change.kind == "delete" and change.values]
    rows = [set(change.values) for change in changes if change.kind != "delete" and change.values]
    if not deletes or not rows or any(one != deletes[0] for one in deletes):
        return ()
    if not set.intersection(*rows) - deletes[0]:
        return ()
    return next(tuple(change.values) for change in changes if change.kind == "delete" and change.values)


def _contradiction(key: Sequence[str], changes: Sequence[SampledChange]) -> str | None:
    """Returns why columns are not the key: a row without them, or different rows that were inserted with one value.

    Copies of a change are one change. A row may be inserted again after its delete, and two snapshots have it twice.
    """
    inserts: dict[str, set[str]] = {}
    reads: dict[tuple[str, str], set[str]] = {}
    deletes: dict[str, int] = {}
    for change in changes:
        if missing := next((name for name in key if name not in change.values), None):
            return f"{missing} is NULL in a row"
        value = json.dumps([change.values[name] for name in key])
        row = json.dumps(change.values, sort_keys=True)
        if change.kind == "delete":
            deletes[value] = deletes.get(value, 0) + 1
        elif change.kind == "insert":
            inserts.setdefault(value, set()).add(row)
        elif change.kind == "read":
            reads.setdefault((value, change.position), set()).add(row)
    several = {value for value, rows in inserts.items() if len(rows) > 1 + deletes.get(value, 0)}
    several |= {value for (value, _), rows in reads.items() if len(rows) > 1}
    if not several:
        return None
    shown = one_line(min(several)[1:-1])[:_MAX_VALUE]
    return f"{number_of(len(several), 'value')} of it came with several inserts and no delete, such as {shown}"


def _likely(fields: Sequence[str]) -> str | None:
    """Returns a column that is probably the key: `id`, or the only one that ends so."""
    if "id" in fields:
        return "id"
    likely = [name for name in fields if folded(name).endswith("id")]
    return likely[0] if len(likely) == 1 else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
