"""The columns of which Delta keeps statistics, in a table with personal columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from tidegate.platform.core.schema.column_reference import quote_path
from tidegate.platform.core.schema.column_types import Decimal, Field, Simple, Struct, fold_name
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
    return only_statistics(path for path in _leaves(given, ()) if not is_personal_path(path, personal))


def only_statistics(paths: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return the property by which Delta keeps statistics of these columns and nested fields, and of no other."""
    named = [quote_path(path) for path in paths][:_MAX_COLUMNS]
    return {STATISTICS: ",".join(named)} if named else {"delta.dataSkippingNumIndexedCols": "0"}


def is_personal(name: str, personal: Collection[str]) -> bool:
    """Return whether a column is personal, or has a personal field."""
    root = fold_name(name)
    return bool(personal) and (
        root == RESCUED_COLUMN or any(part == root or part.startswith(f"{root}.") for part in personal)
    )


def is_personal_path(path: Sequence[str], personal: Collection[str]) -> bool:
    """Return whether a column or nested field is personal, or in one that is, by each reading of its name."""
    lower = [fold_name(part) for part in path]
    return lower[0] == RESCUED_COLUMN or any(
        ".".join(lower[:length]) in personal for length in range(1, len(lower) + 1)
    )


def statistics_paths(fields: Iterable[Field]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the columns and nested fields of which Delta may keep statistics."""
    return _leaves(fields, ())


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
