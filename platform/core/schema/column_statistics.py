"""The columns of which Delta keeps statistics, in a table with personal columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from tidegate.platform.core.schema.column_reference import quote_path
from tidegate.platform.core.schema.column_types import Decimal, Field, Simple, Struct, folded
from tidegate.platform.core.schema.names import RESCUED_COLUMN

#: Delta's property of the columns of which it keeps statistics. It has no others, also not in a file of OPTIMIZE.
STATISTICS = "delta.dataSkippingStatsColumns"
#: Delta's own limit without the property: of more columns the log would only grow.
_MAX_COLUMNS = 32
#: The types that Delta accepts in the property.
_TYPES = frozenset(
    ("byte", "short", "integer", "long", "float", "double", "string", "date", "timestamp", "timestamp_ntz")
)


def statistics_property(
    fields: Iterable[Field], personal: Collection[str], partitions: Collection[str] = ()
) -> dict[str, str]:
    """Return the property by which Delta keeps no statistics of personal columns. Empty without personal columns.

    The log keeps a removed file's statistics, and the bounds of a column of names are names. `_rescued_data` counts as
    personal, because it has the values of any column.

    Args:
        fields: the columns of the table.
        personal: lower-case names of columns, or paths of nested fields.
        partitions: names of the columns whose values come from the path. Delta keeps no statistics of them.
    """
    if not personal:
        return {}
    given = tuple(field for field in fields if field.name not in partitions)
    named = [quote_path(path) for path in _leaves(given, ()) if not _is_personal(path, personal)][:_MAX_COLUMNS]
    return {STATISTICS: ",".join(named)} if named else {"delta.dataSkippingNumIndexedCols": "0"}


def is_personal(name: str, personal: Collection[str]) -> bool:
    """Return whether a column is personal, or has a personal field."""
    root = folded(name)
    return bool(personal) and (
        root == RESCUED_COLUMN or any(part == root or part.startswith(f"{root}.") for part in personal)
    )


def personal_paths(fields: Iterable[Field], names: frozenset[str]) -> frozenset[str]:
    """Return the lower-case paths of the columns and nested fields with a part that has one of the lower-case names."""
    paths = (tuple(folded(part) for part in path) for path in _leaves(fields, ()))
    return frozenset(".".join(path) for path in paths if not names.isdisjoint(path))


def _is_personal(path: tuple[str, ...], personal: Collection[str]) -> bool:
    lower = [folded(part) for part in path]
    return lower[0] == RESCUED_COLUMN or any(
        ".".join(lower[:length]) in personal for length in range(1, len(lower) + 1)
    )


def _leaves(fields: Iterable[Field], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for field in fields:
        path = (*above, field.name)
        match field.type:
            case Struct(inner):
                yield from _leaves(inner, path)
            case Decimal():
                yield path
            case Simple(name) if name in _TYPES:
                yield path
