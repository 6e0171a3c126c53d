"""Deletes that full dumps imply: a key that is in a dump and not in the next one is deleted there."""

from __future__ import annotations

from tidegate.assets.silver.newest_rows import ARRIVAL, change_rows, order_struct
from tidegate.platform.core.schema.column_types import quoted
from tidegate.platform.core.silver.columns import DELETED, KEY, ORDER
from tidegate.platform.core.silver.rules import MergeRules


def with_deletes(
    rows: str, rules: MergeRules, table: str | None, where: str = "true", *, view: str, dropped: str | None = None
) -> str:
    """Returns the rows of dumps and a delete for each key that the next dump does not have.

    A dump is all rows of an equal order. Which one follows is known by the orders of new rows and of those in silver,
    so dumps may come in any order, and a dump in several batches: a row that comes later replaces the delete. A row
    that is no change shows that its dump has the key.

    Args:
        rows: a query of new rows, with the columns of `rules.values` and those of their arrival.
        rules: what a row of bronze is in silver.
        table: the silver table. None if none of its rows stays.
        where: condition of its rows that stay, over a row `t`.
        view: the new rows of bronze.
        dropped: rows of bronze with those that earlier merges left out. None: `view` has them.
    """
    keys = [KEY if KEY in rules.values else part.path for part in rules.keys]
    order = order_struct(part.path for part in rules.order)
    ids = ", ".join(dict.fromkeys(keys))
    # A key may have any name, but none that begins so.
    at, after, following = "_tidegate_at", "_tidegate_after", "_tidegate_next"
    found = f"SELECT {ids}, {order} AS {at}, false AS _tidegate_dead, true AS _tidegate_new, _tidegate_n FROM ({rows})"
    if table is not None:
        found += f" UNION ALL SELECT {ids}, {order}, {DELETED}, false, NULL FROM {table} t WHERE {where}"
    if rules.skipped is not None:
        for there, is_new in ((view, "true"), (dropped, "false")):
            if there is not None:
                left_out = change_rows(rules, there, dropped=True)
                found += f" UNION ALL SELECT {ids}, {order}, false, {is_new}, _tidegate_n FROM ({left_out})"
    known = f"SELECT {ids}, {at}, min(_tidegate_dead) AS _tidegate_dead, max(_tidegate_new) AS _tidegate_new, "
    known += f"max(_tidegate_n) AS _tidegate_n FROM ({found}) GROUP BY {ids}, {at}"
    dumps = f"SELECT {at}, max(_tidegate_new) AS _tidegate_new FROM ({found}) GROUP BY {at}"
    followed = f"SELECT {at}, lead({at}) OVER (ORDER BY {at}) AS {following}, "
    followed += f"lead(_tidegate_new) OVER (ORDER BY {at}) AS _tidegate_next_new FROM ({dumps})"
    by_key = f"PARTITION BY {', '.join(part.path for part in rules.keys)} ORDER BY {at}"
    # No WITH: the rows are part of a MERGE, too, whose source is planned on its own.
    rest = f"SELECT *, lead({at}) OVER ({by_key}) AS {after}, max(_tidegate_n) OVER () AS _tidegate_newest "
    rest += f"FROM ({known})"
    ended = (
        f"({rest}) JOIN ({followed}) USING ({at}) WHERE NOT _tidegate_dead AND (_tidegate_new OR _tidegate_next_new) "
        f"AND {following} IS NOT NULL AND ({after} IS NULL OR {after} > {following})"
    )
    given = {key: key for key in keys}
    if ORDER in rules.values:
        given[quoted(ORDER)] = following
    else:
        given |= {part.path: f"{following}.o{place}" for place, part in enumerate(rules.order, 1)}
    given[quoted(KEY)] = KEY
    columns = [quoted(column) for column in rules.values]
    values = [given.get(column, "NULL") for column in columns]
    return (
        f"SELECT {', '.join([*columns, DELETED, *ARRIVAL])} FROM ({rows}) "
        f"UNION ALL SELECT {', '.join([*values, 'true', '_tidegate_newest', 'NULL', 'NULL'])} FROM {ended}"
    )
