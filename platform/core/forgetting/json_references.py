"""Where the object of a JSON line has what a reference names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.schema.column_types import fold_name


@dataclass(frozen=True)
class Reading:
    """A value that a reference may name.

    Attributes:
        path: the names of the members from outside to inside, in the form in which names are compared.
        value: the value, which is not null.
        is_whole: whether the path has all of the reference. Otherwise the value has no members, and the rest of the
            reference may be anywhere in it: in the text of an object, or in a list of objects.
    """

    path: tuple[str, ...]
    value: Any
    is_whole: bool


def member_readings(content: Mapping[str, Any], reference: str) -> Iterator[Reading]:
    """Yield every value that a reference may name: what `paths_of` gives for columns.

    `user.id` is a member of that name, and the member `id` of `user`. The table of the line may have either.

    Args:
        content: the object.
        reference: a column or nested field, as in `lake.yaml`.
    """
    yield from _readings(content, fold_name(reference), ())


def _readings(content: Mapping[str, Any], rest: str, above: tuple[str, ...]) -> Iterator[Reading]:
    for member, value in content.items():
        name = fold_name(member)
        path = (*above, name)
        if value is None:
            continue
        if name == rest:
            yield Reading(path, value, is_whole=True)
        elif rest.startswith(f"{name}."):
            if isinstance(value, Mapping):
                yield from _readings(value, rest[len(name) + 1 :], path)
            else:
                yield Reading(path, value, is_whole=False)
