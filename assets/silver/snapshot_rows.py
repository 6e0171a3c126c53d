"""Deletes that full dumps imply: a key that is in a dump and not in the next one is deleted there."""

from __future__ import annotations

from tidegate.assets.silver.newest_rows import ARRIVAL, order_struct
from tidegate.platform.core.schema.column_types import quoted
from tidegate.platform.core.silver.columns import DELETED, KEY, ORDER
from tidegate.platform.core.silver.rules import MergeRules


def with_deletes(rows: str, rules: MergeRules, table: str | None, where: str = "true") -> str:
    """Returns the rows of dumps and a delete for each key that the next dump does not have.

    A dump is all rows of an equal order. Which one follows is known by the orders of new rows and of those in silver,
    so dumps may come in any order, and a dump in several batches: a row that comes later replaces the delete.

    Args:
        rows: a query of new rows, with the columns of `rules.values` and those of their arrival.
        rules: what a row of bronze is in silver.
        table: the silver table. None if none of its rows stays.
        where: condition of its rows that stay, over a row `t`.
    """
    keys = [KEY if KEY in rules.values else part.path for part in rules.keys]
    order = order_struct(part.path for part in rules.order)
    ids = ", ".join(dict.fromkeys(keys))
    found = f"SELECT {ids}, {order} AS at, false AS is_dead, true AS is_new, _tidegate_n AS n FROM ({rows})"
    if table is not None:
        found += f" UNION ALL SELECT {ids}, {order}, {DELETED}, false, NULL FROM {table} t WHERE {where}"
    known = f"SELECT {ids}, at, min(is_dead) AS is_dead, max(is_new) AS is_new, max(n) AS n FROM ({found}) "
    known += f"GROUP BY {ids}, at"
    dumps = f"SELECT at, max(is_new) AS is_new FROM ({found}) GROUP BY at"
    followed = "SELECT at, lead(at) OVER (ORDER BY at) AS next, lead(is_new) OVER (ORDER BY at) AS is_next_new "
    followed += f"FROM ({dumps})"
    by_key = f"PARTITION BY {', '.join(part.path for part in rules.keys)} ORDER BY at"
    # No WITH: the rows are part of a MERGE, too, whose source is planned on its own.
    rest = f"SELECT *, lead(at) OVER ({by_key}) AS after, max(n) OVER () AS newest FROM ({known})"
    ended = (
        f"({rest}) JOIN ({followed}) USING (at) WHERE NOT is_dead AND (is_new OR is_next_new) AND next IS NOT NULL "
        "AND (after IS NULL OR after > next)"
    )
    given = {key: key for key in keys}
    if ORDER in rules.values:
        given[quoted(ORDER)] = "next"
    else:
        given |= {part.path: f"next.o{place}" for place, part in enumerate(rules.order, 1)}
    given[quoted(KEY)] = KEY
    columns = [quoted(column) for column in rules.values]
    values = [given.get(column, "NULL") for column in columns]
    return (
        f"SELECT {', '.join([*columns, DELETED, *ARRIVAL])} FROM ({rows}) "
        f"UNION ALL SELECT {', '.join([*values, 'true', 'newest', 'NULL', 'NULL'])} FROM {ended}"
    )
