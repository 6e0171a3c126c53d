"""The sides of a change, `before` and `after`: a row has two states of its key, and each may be of another person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidegate.platform.core.schema.column_types import folded

_NAMES = ("before", "after")


def sides(subject: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Returns the two structs of a row that may each be of another person.

    If a forgotten person has one of them, the row stays with the other one. So nothing personal may be outside of them.

    Args:
        subject: the columns and nested fields that identify a person, as in `lake.yaml`.
        columns: the further personal columns and nested fields.

    Returns:
        `before` and `after`, with what they are in. Nothing if a row is of its persons as a whole.
    """
    found = {folded(side): side for name in subject if (side := next(_above(name), None))}
    for before in [side for side in found if _last(side) == _NAMES[0]]:
        after = f"{before.removesuffix(_NAMES[0])}{_NAMES[1]}"
        if found.keys() == {before, after} and all(_is_in(found, name) for name in (*subject, *columns)):
            return (found[before], found[after])
    return ()


def _above(name: str) -> Iterator[str]:
    """Yields the structs that a nested field is in and that can be a side."""
    parts = name.split(".")
    yield from (".".join(parts[:end]) for end in range(1, len(parts)) if folded(parts[end - 1]) in _NAMES)


def _is_in(found: dict[str, str], name: str) -> bool:
    return any(f"{folded(name)}.".startswith(f"{side}.") for side in found)


def _last(path: str) -> str:
    return path.rsplit(".", 1)[-1]
