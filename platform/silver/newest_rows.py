"""The SQL of the source of a merge: the rows of bronze as silver has them, reduced to the newest row of each key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tidegate.platform.core.config.silver_columns import (
    CHANGED_AT,
    CHANGED_BATCH,
    DELETED,
    GIVERS,
    KEY,
    LAST_DELETE,
    LEFT,
    LEFT_TYPE,
    ORDER,
)
from tidegate.platform.core.forgetting.persons import NOBODY
from tidegate.platform.core.schema.column_types import Type, quote_name
from tidegate.platform.core.schema.comparable_values import comparable_value
from tidegate.platform.core.schema.exact_json import exact_json, from_exact_json
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.core.silver.row_value import ELEMENT
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.lake.spark.results import TIED

#: For each column that may keep its value: the order of the row that gave the value, or else of the last delete before
#: the newest row. NULL if there is neither. The item after them is the order of that delete, or NULL.
GIVEN_AT = "_tidegate_given_at"
#: For each such column: the persons of the row that gave the value.
GIVEN_BY = "_tidegate_given_by"
#: Whether the row leaves the value of each such column as it is.
KEPT = "_tidegate_kept"
#: What `LEFT` is of a row that has all of its values itself.
NOTHING_LEFT = f"CAST(NULL AS {LEFT_TYPE.sql()})"
_ENTRIES = "array<struct<key: string, value: string>>"
#: Columns that say when a row of bronze came: its batch, its file, its place in the file.
ARRIVAL = ("_tidegate_n", "_tidegate_path", "_tidegate_row")


def newest_rows(
    name: str,
    rules: MergeRules,
    view: str,
    *,
    is_partial: bool = False,
    truncate: str | None = None,
    complete: Callable[[str], str] = lambda rows: rows,
) -> str:
    """Return a query of the newest row of each key, with silver's own columns, and whether it is tied.

    Where a row leaves a value, the row has that of the newest row which has one, back to the last delete of the key. It
    does not matter in which order the rows came.

    Args:
        name: the silver table, for errors.
        view: the rows of bronze.
        is_partial: whether rows may leave a value as it is. The query then has `GIVEN_AT`.
        truncate: rows that are older than this order are left out. JSON of a struct.
        complete: adds rows to a query of rows in silver's columns.
    """
    keys = ", ".join(part.path for part in rules.keys)
    rows = complete(change_rows(rules, view, is_partial=is_partial, truncate=truncate))
    deleted, more = DELETED, ""
    if is_partial:
        rows = _number_lives(rules, keys, rows)
        more = "".join(f", {window}" for window in _last_values(rules, keys))
    if rules.on_tie == "fail":
        # Rows that are alike are not a tie: a producer that repeats itself says nothing new.
        row = tie_comparison_sql(rules, {field.name: field.type for field in rules.columns})
        equal = f"PARTITION BY {keys}, {', '.join(part.path for part in rules.order)}"
        more += f", min({row}) OVER ({equal}) AS _tidegate_first, max({row}) OVER ({equal}) AS _tidegate_last"
        key = key_text(part.path for part in rules.keys)
        deleted = f"if(_tidegate_first <> _tidegate_last, {tie_error(name, key)}, {DELETED})"
    last_first = ", ".join([rules.newest_first, *(f"{column} DESC" for column in ARRIVAL)])
    order, window = order_struct(part.path for part in rules.order), f"PARTITION BY {keys} ORDER BY {last_first}"
    places = (
        f"SELECT *, row_number() OVER ({window}) AS _tidegate_place, "
        f"lead({order}) OVER ({window}) <=> {order} AS {TIED}{more} FROM ({rows})"
    )
    filled = {column: quote_name(column) for column in rules.values}
    if is_partial:
        filled |= {column: f"_tidegate_value{place}.value" for place, column in enumerate(rules.kept)}
    own = [
        f"{deleted} AS {DELETED}",
        f"_tidegate_n AS {CHANGED_BATCH}",
        f"current_timestamp() AS {CHANGED_AT}",
        TIED,
    ]
    if is_partial:
        own += _giver_columns(rules, order)
    elif rules.records_left:
        own.append(f"{NOTHING_LEFT} AS {LEFT}")
    given = [f"{value} AS {quote_name(column)}" for column, value in filled.items()]
    return f"SELECT {', '.join([*given, *own])} FROM ({places}) WHERE _tidegate_place = 1"


def _giver_columns(rules: MergeRules, order: str) -> list[str]:
    """Return the columns that say which rows gave the values of the newest row: `GIVEN_AT`, `GIVEN_BY` and `LEFT`."""
    given_at = [f"coalesce(_tidegate_value{place}.at, _tidegate_deleted_at)" for place in range(len(rules.kept))]
    own = [f"array({', '.join([*given_at, '_tidegate_deleted_at'])}) AS {GIVEN_AT}"]
    given_by = [f"coalesce(_tidegate_value{place}.persons, {NOBODY})" for place in range(len(rules.kept))]
    if rules.persons:
        own.append(f"array({', '.join(given_by)}) AS {GIVEN_BY}")
    if rules.records_left:
        last_delete = "_tidegate_deleted_at" if rules.records_deletes else None
        orders, persons = (dict(zip(rules.kept, each, strict=True)) for each in (given_at, given_by))
        own.append(f"{left_record_sql(rules, '', order, orders, persons, last_delete)} AS {LEFT}")
    return own


def change_rows(
    rules: MergeRules, view: str, *, is_partial: bool = False, truncate: str | None = None, dropped: bool = False
) -> str:
    """Return a query of the changes among bronze's rows, with the columns of silver.

    Args:
        view: the rows of bronze.
        is_partial: whether rows may leave a value as it is.
        truncate: rows that are older than this order are left out. JSON of a struct.
        dropped: the query has the rows that are left out by `skipped`, and no others.
    """
    values = [f"{value} AS {quote_name(column)}" for column, value in rules.values.items() if column != KEY]
    kept = [f"array({', '.join(rules.kept.values())}) AS {KEPT}"] if is_partial else []
    left_out = [condition for condition in (rules.skipped, rules.truncated) if condition]
    where = " AND ".join(f"NOT coalesce({condition}, false)" for condition in left_out)
    if dropped:
        where = f"coalesce({rules.skipped or 'false'}, false)"
    arrival = [*ARRIVAL[:-1], f"struct({ARRIVAL[-1]}, {ELEMENT}) AS {ARRIVAL[-1]}"] if rules.is_list else ARRIVAL
    rows = (
        f"SELECT {', '.join([*values, f'{rules.deleted} AS {DELETED}', *arrival, *kept])} "
        f"FROM {rules.add_row_value(view)}" + (f" WHERE {where}" if where else "")
    )
    if KEY in rules.values:
        rows = f"SELECT *, {rules.values[KEY]} AS {KEY} FROM ({rows})"
    if truncate is not None:
        rows = f"SELECT * FROM ({rows}) WHERE NOT {older_than_truncate(rules, ORDER, truncate)}"
    return rows


def forgotten_rows(rules: MergeRules, view: str | None) -> str | None:
    """Return a query of all of bronze's rows, those included that merges leave out. None without their view."""
    return None if view is None else change_rows(replace(rules, skipped=None, truncated=None), view)


def rows_of_keys_since(
    rows: str,
    rules: MergeRules,
    table: str,
    since: int,
    *,
    batch: str = "_tidegate_n",
    forgotten: str | None = None,
    stored: str | None = None,
) -> str:
    """Return the rows of the keys that have a row of batch `since` or later, in a query or in the silver table.

    A row of silver may have something of a forgotten person's row, and the batch of another one: a late row gives it a
    value, or ends its values.

    Args:
        rows: a query of rows with the columns of silver. It has all rows of each key.
        table: the silver table.
        since: number of the batch.
        batch: the column of the query with the number of the batch that brought a row.
        forgotten: a query that has the rows of forgotten persons, with `_tidegate_n`. None if nobody was forgotten.
        stored: a view of the rows of silver that have something of forgotten persons, as bronze may not have theirs any
            more. None if nobody was forgotten.
    """
    paths = [part.path for part in rules.keys]
    keys = ", ".join(f"{path} AS k{place}" for place, path in enumerate(paths))
    chosen = f"SELECT {keys} FROM ({rows}) WHERE {batch} >= {since} "
    chosen += f"UNION SELECT {keys} FROM {table} WHERE {CHANGED_BATCH} >= {since}"
    if forgotten is not None:
        chosen += f" UNION SELECT {keys} FROM ({forgotten}) WHERE _tidegate_n >= {since}"
    if stored is not None:
        chosen += f" UNION SELECT {keys} FROM {stored}"
    same = " AND ".join(f"r.{path} <=> k.k{place}" for place, path in enumerate(paths))
    return f"SELECT r.* FROM ({rows}) r LEFT SEMI JOIN ({chosen}) k ON {same}"


def older_than_truncate(rules: MergeRules, order: str, truncate: str) -> str:
    """Return the condition that an order is older than that of a truncate."""
    return f"({order} < {order_from_json(rules, truncate)})"


def order_from_json(rules: MergeRules, text: str) -> str:
    """Return SQL of an order that `exact_json` wrote."""
    kind = next(field.type for field in rules.columns if field.name == ORDER)
    return from_exact_json(text, kind.sql())


def order_struct(paths: Iterable[str]) -> str:
    """Return SQL of a struct that compares as the order does. NULL is older than every value."""
    return f"struct({', '.join(f'{path} AS o{place}' for place, path in enumerate(paths, 1))})"


def order_type(types: Iterable[Type]) -> str:
    """Return the SQL type of the struct that an order is.

    Args:
        types: of its parts.
    """
    return f"struct<{', '.join(f'o{place}: {kind.sql()}' for place, kind in enumerate(types, 1))}>"


def _number_lives(rules: MergeRules, keys: str, rows: str) -> str:
    """Return the rows, each with the number of rows before it that delete its key, and the last order of these."""
    oldest_first = _oldest_first_order(rules)
    before = f"OVER (PARTITION BY {keys} ORDER BY {oldest_first} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    order = order_struct(part.path for part in rules.order)
    return (
        f"SELECT *, coalesce(sum(if({DELETED}, 1, 0)) {before}, 0) AS _tidegate_life, "
        f"max(if({DELETED}, {order}, NULL)) {before} AS _tidegate_deleted_at FROM ({rows})"
    )


def left_record_sql(
    rules: MergeRules,
    side: str,
    order: str,
    given_at: Mapping[str, str],
    given_by: Mapping[str, str],
    last_delete: str | None = None,
    stays: str | None = None,
) -> str:
    """Return SQL of what silver records in `LEFT` of a row. NULL if the row has all of its values itself.

    A row of an equal order may have given a value, too. It is recorded if it names a person whom the row does not name.

    Args:
        side: of the row, such as `s.`.
        order: SQL of the order of the row.
        given_at: by column, SQL of the order from which its value is.
        given_by: by column, SQL of the persons of the row that gave it. Without effect if rows are of nobody.
        last_delete: SQL of the order of the last delete before the row. None: it is not recorded.
        stays: SQL of entries of other columns that stay, or NULL. None: there are none.
    """
    wanted, all_at = f"e.at IS NULL OR e.at < {order}", dict(given_at)
    if last_delete is not None:
        all_at[LAST_DELETE] = last_delete
        wanted = f"if(e.key = {literal(LAST_DELETE)}, e.at IS NOT NULL, {wanted})"
    recorded = exact_json("e.at")
    more = dict.fromkeys(all_at, "")
    if rules.persons:
        # Whose value it is follows the order in the JSON, and what reads the order alone does not see it.
        parts = [f"e.at.o{place} AS o{place}" for place in range(1, len(rules.order) + 1)]
        both = f"struct({', '.join([*parts, f'e.by AS {GIVERS}'])})"
        recorded = f"if(e.at IS NULL, NULL, {exact_json(both)})"
        others = f"size(array_except(e.by, {rules.persons.sql(side)})) > 0"
        wanted = f"({wanted}) OR coalesce(e.at <=> {order} AND {others}, false)"
        more = {name: f", {given_by.get(name, NOBODY)} AS by" for name in all_at}
    entries = ", ".join(f"struct({literal(name)} AS key, {at} AS at{more[name]})" for name, at in all_at.items())
    older = f"filter(array({entries}), e -> {wanted})"
    written = f"transform({older}, e -> struct(e.key AS key, {recorded} AS value))"
    nothing = f"CAST(array() AS {_ENTRIES})"
    if stays is not None:
        written = f"concat(coalesce({stays}, {nothing}), {written})"
    return f"map_from_entries(nullif({written}, {nothing}))"


def _oldest_first_order(rules: MergeRules) -> str:
    """Return SQL of an ORDER BY of a key's rows: the oldest first, and of equal rows the one that came first."""
    return ", ".join([rules.oldest_first, *ARRIVAL])


def _last_values(rules: MergeRules, keys: str) -> Sequence[str]:
    """Return windows: the last value that a row gives to each column since the key was deleted, and its order."""
    order = order_struct(part.path for part in rules.order)
    persons = f", {rules.persons.sql()} AS persons" if rules.persons else ""
    life = f"PARTITION BY {keys}, _tidegate_life ORDER BY {_oldest_first_order(rules)}"
    return [
        *(
            f"last_value(if({KEPT}[{place}], NULL, struct({order} AS at, {quote_name(column)} AS value{persons})), "
            f"true) OVER ({life} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS _tidegate_value{place}"
            for place, column in enumerate(rules.kept)
        ),
    ]


def tie_comparison_sql(rules: MergeRules, types: Mapping[str, Type]) -> str:
    """Return SQL of what is compared of rows with an equal order: the row as JSON. NULL is in no tie.

    A delete that a dump implied is in no tie with a row of the dump that comes in a later batch. Such a delete has no
    file, and no row of silver has a file.

    Args:
        types: the columns, in the types that the rows have.
    """
    values = (f"{comparable_value(kind, quote_name(name))} AS {quote_name(name)}" for name, kind in types.items())
    text = exact_json(f"struct({', '.join([*values, DELETED])})")
    return f"if({DELETED} AND _tidegate_path IS NULL, NULL, {text})" if rules.are_dumps else text


def key_text(parts: Iterable[str]) -> str:
    """Return SQL of a key for an error."""
    return f"to_json(array({', '.join(f'CAST({part} AS STRING)' for part in parts)}))"


def tie_error(name: str, key: str) -> str:
    """Return SQL that raises the error of a tie.

    Args:
        name: the silver table.
        key: SQL of the text of the key.
    """
    return (
        f"raise_error(concat('{name}: two different rows have the key ', {key}, ' and an equal `order`: add a column "
        "to `order` in lake.yaml that distinguishes them, or remove `on_tie`, and the last one counts'))"
    )
