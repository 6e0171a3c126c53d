"""Deletes that full dumps imply: a key that is in a dump and not in the next one is deleted there."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.config.silver_columns import DELETED, KEY, ORDER
from tidegate.platform.core.schema.column_types import quote_name
from tidegate.platform.core.schema.exact_json import from_exact_json
from tidegate.platform.core.silver.audit.dumps import IncompleteDump
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.silver.changes import KnownDumps
from tidegate.platform.silver.newest_rows import ARRIVAL, change_rows, order_struct, order_type

#: The column of the order. A key may have any name, but none that begins so.
_AT = "_tidegate_at"


def with_deletes(
    rows: str, rules: MergeRules, table: str | None, where: str = "true", *, view: str, dumps: KnownDumps
) -> str:
    """Return the rows of dumps and a delete for each key that the next dump does not have.

    A dump is all rows of an equal order. Which one follows is known by the orders of new rows and of those in silver,
    so dumps may come in any order, and a dump in several batches: a row that comes later replaces the delete. A row
    that is not a change shows that its dump has the key. A dump of which rows are in quarantine may have any key, so
    the next one follows in its place.

    Args:
        rows: a query of new rows, with the columns of `rules.values` and those of their arrival.
        table: the silver table. None if none of its rows stays.
        where: condition of its rows that stay, over a row `t`.
        view: the new rows of bronze.
        dumps: what else is known of the dumps.
    """
    keys = [KEY if KEY in rules.values else part.path for part in rules.keys]
    order = order_struct(part.path for part in rules.order)
    ids = ", ".join(dict.fromkeys(keys))
    at, after, following = _AT, "_tidegate_after", "_tidegate_next"
    found = f"SELECT {ids}, {order} AS {at}, false AS _tidegate_dead, true AS _tidegate_new, _tidegate_n FROM ({rows})"
    if table is not None:
        found += f" UNION ALL SELECT {ids}, {order}, {DELETED}, false, NULL FROM {table} t WHERE {where}"
    if rules.skipped is not None:
        for there, is_new in ((view, "true"), (dumps.dropped, "false")):
            if there is not None:
                left_out = change_rows(rules, there, dropped=True)
                found += f" UNION ALL SELECT {ids}, {order}, false, {is_new}, _tidegate_n FROM ({left_out})"
    known = f"SELECT {ids}, {at}, min(_tidegate_dead) AS _tidegate_dead, max(_tidegate_new) AS _tidegate_new, "
    known += f"max(_tidegate_n) AS _tidegate_n FROM ({found}) GROUP BY {ids}, {at}"
    followed = _successive_dumps(found, rules, dumps.incomplete, following)
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
        given[quote_name(ORDER)] = following
    else:
        given |= {part.path: f"{following}.o{place}" for place, part in enumerate(rules.order, 1)}
    given[quote_name(KEY)] = KEY
    columns = [quote_name(column) for column in rules.values]
    values = [given.get(column, "NULL") for column in columns]
    return (
        f"SELECT {', '.join([*columns, DELETED, *ARRIVAL])} FROM ({rows}) "
        f"UNION ALL SELECT {', '.join([*values, 'true', '_tidegate_newest', 'NULL', 'NULL'])} FROM {ended}"
    )


def _successive_dumps(found: str, rules: MergeRules, incomplete: Sequence[IncompleteDump], following: str) -> str:
    """Return a query of each dump with the one that follows, and whether that has new rows.

    Args:
        found: a query of rows of dumps.
        incomplete: dumps that follow none.
        following: name of the order of the dump that follows.
    """
    every = f"SELECT {_AT}, _tidegate_new, false AS _tidegate_partial FROM ({found})"
    if incomplete:
        every += f" UNION ALL {_incomplete_dumps_query(rules, incomplete)}"
    orders = f"SELECT {_AT}, max(_tidegate_new) AS _tidegate_new, max(_tidegate_partial) AS _tidegate_partial "
    orders += f"FROM ({every}) GROUP BY {_AT}"
    whole = f"if(_tidegate_partial, NULL, struct({_AT} AS at, _tidegate_new AS is_new))"
    newer = f"ORDER BY {_AT} DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    followed = f"SELECT {_AT}, _tidegate_whole.at AS {following}, _tidegate_whole.is_new AS _tidegate_next_new FROM "
    return f"{followed}(SELECT {_AT}, last_value({whole}, true) OVER ({newer}) AS _tidegate_whole FROM ({orders}))"


def _incomplete_dumps_query(rules: MergeRules, dumps: Sequence[IncompleteDump]) -> str:
    """Return a query of dumps of which rows are in quarantine."""
    texts = f"[{', '.join(dump.order for dump in dumps)}]"
    order = order_struct(f"o{place}" for place in range(1, len(rules.order) + 1))
    listed = from_exact_json(texts, f"array<{order_type(rules.order_types)}>")
    return f"SELECT {order}, false, true FROM (SELECT inline({listed}))"
