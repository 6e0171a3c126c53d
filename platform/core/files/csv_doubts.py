"""Doubts about CSV files: a header that may be a row, a column that is text because of few cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date

from tidegate.platform.core.schema.digits import keeps

#: A time, as `TimeText` of platform/jvm reads it (docs/reference/times.md).
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[ Tt]\d{1,2}:\d{1,2}(:\d{1,2}([.,](\d{1,6}|\d{6}0+))?)?"
    r"( ?((Z|UTC|GMT|UT)(\[[\w/+-]+\])?|[A-Z_]+(/[\w+-]+)+"
    r"|[+-](\d{2}(:?\d{2}|:\d{2}:\d{2})?|\d:\d{2})(\[[\w/+-]+\]| ([A-Z]{1,6}|[+-]\d{2,4}))?))?",
    re.IGNORECASE | re.ASCII,
)
_WHOLE = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)
_NUMBER = re.compile(r"-?(?P<before>0|[1-9]\d*)?(\.(?P<behind>\d+))?([eE][+-]?\d+)?", re.ASCII)
#: Digits of a number in a column that becomes `double`.
_MAX_DIGITS = 17
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
#: A pivoted table has years as column names.
_YEAR = re.compile(r"(19|20)\d{2}")
#: Minimum number of cells that show a column's type; one of `_ONE_OF` cells may have another type.
_MIN_CELLS = 10
_ONE_OF = 20


def _is_whole(cell: str) -> bool:
    return bool(_WHOLE.fullmatch(cell)) and -(2**63) <= int(cell) < 2**63


def _is_number(cell: str) -> bool:
    found = _NUMBER.fullmatch(cell)
    if not found or cell == "-0" or not (found["before"] or found["behind"]):
        return False
    digits = len((found["before"] or "").removeprefix("0")) + len(found["behind"] or "")
    return digits <= _MAX_DIGITS and keeps(cell)


def _is_date(cell: str) -> bool:
    try:
        return bool(_DATE.fullmatch(cell)) and date.fromisoformat(cell) is not None
    except ValueError:
        return False


def _is_time(cell: str) -> bool:
    return bool(_TIME.fullmatch(cell)) and _is_date(cell[:10])


#: SQL types of cells, by their spelling, the narrowest first (`CsvTypes` of platform/jvm).
TYPES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("bigint", _is_whole),
    ("double", _is_number),
    ("boolean", lambda cell: cell.lower() in ("true", "false")),
    ("date", _is_date),
    ("timestamp", lambda cell: _is_time(cell) or _is_date(cell)),
)


def type_of(cells: Iterable[str]) -> str:
    """Return the narrowest type that the spelling of all cells allows. Empty cells are ignored."""
    filled = [cell for cell in cells if cell != ""]
    return next((kind for kind, fits in TYPES if filled and all(map(fits, filled))), "string")


def header_doubt(names: Sequence[str]) -> str | None:
    """Return why the first row of a file may not be a header; None if it looks like one."""
    values = [name for name in names if type_of([name]) != "string" and not _YEAR.fullmatch(name)]
    if not values:
        return None
    shown = ", ".join(repr(value[:40]) for value in values[:3])
    return (
        f"its first row looks like values and not like names ({shown}): where the files have no header, set "
        "`csv: {header: false}` of the table in lake.yaml"
    )


def text_doubts(columns: Mapping[str, Sequence[str]], nulls: Collection[str]) -> list[str]:
    """Return why columns that become text may be intended as another type: nearly all of their cells have that type.

    Args:
        columns: the first cells of each column.
        nulls: texts that mean null.
    """
    return [doubt for name, cells in columns.items() if (doubt := _text_doubt(name, cells, nulls))]


def _text_doubt(name: str, all_cells: Sequence[str], nulls: Collection[str]) -> str | None:
    cells = [cell for cell in all_cells if cell != "" and cell not in nulls]
    kinds = Counter(type_of([cell]) for cell in cells)
    if kinds["bigint"] and kinds["double"]:
        kinds["double"] += kinds.pop("bigint")
    kind, count = next(iter(kinds.most_common(1)), ("string", 0))
    others = len(cells) - count
    if kind == "string" or len(cells) < _MIN_CELLS or others > max(1, len(cells) // _ONE_OF):
        return None
    odd = next((cell for cell in cells if type_of([cell]) not in (kind, "bigint" if kind == "double" else kind)), None)
    why = "a later cell is not" if odd is None else f"{odd[:40]!r} is not"
    return (
        f"column {name[:60]} is text, though {count} of its first {len(cells)} cells are {kind}, and {why}: where "
        "such cells mean null, say so in `csv: {nulls: […]}`; else say the type in `columns`; then their rows are "
        "quarantined"
    )
