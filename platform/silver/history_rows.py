"""The SQL of a history: the changes of each key in their order, each with the time in which its row holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegate.platform.core.config.silver_columns import (
    CHANGED_AT,
    CHANGED_BATCH,
    DELETED,
    IS_CURRENT,
    JOINED,
    LEFT,
    VALID_FROM,
    VALID_TO,
)
from tidegate.platform.core.schema.column_types import Array, Map, Simple, Struct, Type, quote_name
from tidegate.platform.core.schema.comparable_values import comparable_value
from tidegate.platform.core.schema.exact_json import exact_json
from tidegate.platform.core.schema.field_alignment import align_value
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.core.silver.history import History
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.lake.spark.results import LATE, PLACE, TIED
from tidegate.platform.silver.changes import KnownDumps
from tidegate.platform.silver.dumps.snapshot_rows import with_deletes
from tidegate.platform.silver.newest_rows import (
    ARRIVAL,
    KEPT,
    change_rows,
    key_text,
    order_from_json,
    order_struct,
    tie_comparison_sql,
    tie_error,
)
from tidegate.platform.silver.unchanged_values import ColumnTypes, was_left_condition

#: Up to this many changes, their keys are sent to every task that reads the silver table.
_MAX_BROADCAST_ROWS = 100_000
_RUNNING_FRAME = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_ALL = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
#: The batch of a change has a name of silver.
_WITHIN_BATCH = ARRIVAL[1:]
#: Windows of the rows of an order: which row of the table is among them, and how many there are.
_PLACES = {
    f"max({PLACE[0]})": "_tidegate_in_file",
    f"max({PLACE[1]})": "_tidegate_in_row",
    f"max({PLACE[2]})": "_tidegate_in_shown",
    f"count({PLACE[0]})": "_tidegate_files",
    "count(*)": "_tidegate_equal",
}
#: Start of the names of windows: the last value that was given to a column.
_VALUE = "_tidegate_given"


@dataclass(frozen=True)
class StoredRows:
    """The rows of the silver table that are recomputed together with new changes.

    Attributes:
        table: the silver table. None if none of its rows stays.
        is_tail: only the keys of the new changes, from the earliest of these changes on.
        where: condition of the rows that stay, over a row `t`.
        batch: SQL of the number of the batch that brought a row.
        has_places: the table has `PLACE` of each row, and the query has that of the row which a row replaces.
    """

    table: str | None
    is_tail: bool = False
    where: str = "true"
    batch: str = f"t.{CHANGED_BATCH}"
    has_places: bool = False


class HistoryQuery:
    """A query of the rows of a history, built from the inside out.

    Each layer is a query over the layer before it:

    1. changes: the new ones, and the stored ones that stay;
    2. one change for each key and order, the last one;
    3. lives: how many deletes and truncates are before a change, so that nothing is carried over them;
    4. values that a change leaves as they are, taken from the changes before it;
    5. starts: whether a change begins a row that the view shows;
    6. times: from the start of its row to the next change.

    Args:
        name: the silver table, for errors.
        rules: what a row of bronze is in silver. They have a history.
        truncates: the orders of all truncates, as JSON of structs.
        dumps: what is known of full dumps.
    """

    def __init__(
        self,
        name: str,
        rules: MergeRules,
        types: ColumnTypes,
        truncates: Sequence[str] = (),
        dumps: KnownDumps | None = None,
    ) -> None:
        if rules.history is None:
            raise AssertionError("only tables with a history are built so")
        self._name = name
        self._rules = rules
        self._types = types
        self._dumps = dumps or KnownDumps()
        self._history: History = rules.history
        self._keys = ", ".join(part.path for part in rules.keys)
        self._oldest_first = rules.oldest_first
        self._order = order_struct(part.path for part in rules.order)
        orders = ", ".join(order_from_json(rules, text) for text in truncates)
        self._truncates = f"array({orders})" if truncates else None
        #: Columns that a change may leave as they are.
        self._left = tuple(rules.kept) if self._history.leaves_values else ()

    def sql(
        self,
        view: str,
        stored: StoredRows,
        *,
        max_rows: int | None = None,
        chosen: Callable[[str], str] = lambda rows: rows,
    ) -> str:
        """Return the query. Its rows have distinct pairs of key and order.

        Args:
            view: the rows of bronze.
            stored: the rows of silver that are recomputed. If they are a tail, rows that do not change are left out.
            max_rows: how many new changes there are at most; None if that is not known.
            chosen: chooses keys among a query of all rows, new and stored.
        """
        new = self._new_changes(view, stored)
        rows = f"SELECT * FROM ({new})"
        if stored.table is not None:
            is_small = max_rows is not None and max_rows <= _MAX_BROADCAST_ROWS
            rows += f" UNION ALL {self._staying_changes(stored, new, is_small=is_small)}"
        # All windows are within a key, so rows are sent once.
        rows = f"SELECT * FROM ({chosen(rows)}) DISTRIBUTE BY {self._keys}"
        rows = self._last_change_of_orders(rows, has_places=stored.has_places)
        for layer in (self._number_lives, self._fill_left_values, self._interval_starts):
            rows = layer(rows)
        is_tail = stored.table is not None and stored.is_tail
        return self._select_rows(self._validity_times(rows, stored, is_tail=is_tail), stored, only_changed=is_tail)

    def _new_changes(self, view: str, stored: StoredRows) -> str:
        """Return the new changes, with the columns and the types of silver."""
        values = [
            f"{align_value(*kinds, quote_name(column))} AS {quote_name(column)}"
            for column, kinds in self._types.items()
        ]
        if self._history.leaves_values:
            left = f"filter(array({', '.join(self._left_names)}), (name, place) -> {KEPT}[place])"
            left = left if self._left else "CAST(array() AS array<string>)"
            values.append(f"{left} AS {LEFT}")
        own = [DELETED, f"_tidegate_n AS {CHANGED_BATCH}", *_WITHIN_BATCH, "true AS _tidegate_new"]
        own += ["NULL AS _tidegate_was", "false AS _tidegate_anchor"]
        own += [f"NULL AS {column}" for column in PLACE if stored.has_places]
        rows = change_rows(self._rules, view, is_partial=bool(self._left), truncate=None)
        if self._rules.are_dumps:
            rows = with_deletes(rows, self._rules, stored.table, stored.where, view=view, dumps=self._dumps)
        return f"SELECT {', '.join([*values, *own])} FROM ({rows})"

    def _staying_changes(self, stored: StoredRows, new: str, *, is_small: bool) -> str:
        """Return the stored changes that stay: all of them, or the tails of the keys that change.

        A tail begins with the last change before the first new one, the anchor. Only its end may change.
        """
        columns = [*(quote_name(column) for column in self._types), *([LEFT] if self._history.leaves_values else [])]
        values = [f"t.{column}" for column in columns]
        if self._rules.ignored_nulls:
            values[-1] = self._stored_left_columns()
        was = self._state("t.")
        values += [f"t.{DELETED}", f"{stored.batch} AS {CHANGED_BATCH}", "NULL", "NULL", "false", was]
        places = [f"t.{column}" for column in PLACE if stored.has_places]
        if not stored.is_tail:
            return f"SELECT {', '.join([*values, 'false', *places])} FROM {stored.table} t WHERE {stored.where}"
        parts = [part.path for part in self._rules.keys]
        keys = ", ".join(f"{path} AS k{place}" for place, path in enumerate(parts))
        first = f"SELECT {keys}, min({self._order}) AS first FROM ({new}) GROUP BY {self._keys}"
        order = order_struct(f"t.{part.path}" for part in self._rules.order)
        same_key = " AND ".join(f"t.{path} <=> k.k{place}" for place, path in enumerate(parts))
        until = f"t.{VALID_TO} IS NULL OR {self._order_of_bound(f't.{VALID_TO}')} >= k.first"
        hint = "/*+ BROADCAST(k) */ " if is_small else ""
        values = [*values, f"{order} < k.first", *places]
        return (
            f"SELECT {hint}{', '.join(values)} FROM {stored.table} t JOIN ({first}) k "
            f"ON {same_key} WHERE {order} >= k.first OR {until}"
        )

    def _stored_left_columns(self) -> str:
        """Return SQL of the columns whose value a stored change left."""
        names = (
            f"if({was_left_condition(self._rules, column, f'array_contains(t.{LEFT}, {name})')}, {name}, NULL)"
            for column, name in zip(self._left, self._left_names, strict=True)
        )
        return f"array_compact(array({', '.join(names)}))"

    def _last_change_of_orders(self, rows: str, *, has_places: bool) -> str:
        """Return the last change of each key and order: of the latest batch, and there of the last file and row."""
        equal = f"PARTITION BY {self._keys}, {', '.join(part.path for part in self._rules.order)}"
        arrival = (CHANGED_BATCH, "_tidegate_new", *_WITHIN_BATCH)
        last_first = ", ".join(f"{column} DESC" for column in arrival)
        windows, replaced = [f"row_number() OVER ({equal} ORDER BY {last_first}) AS _tidegate_place"], {}
        if self._rules.on_tie == "fail":
            row = tie_comparison_sql(self._rules, {name: kind for name, (_, kind) in self._types.items()})
            windows += [f"{side}({row}) OVER ({equal}) AS _tidegate_{side}" for side in ("min", "max")]
            error = tie_error(self._name, key_text(part.path for part in self._rules.keys))
            replaced[DELETED] = f"if(_tidegate_min <> _tidegate_max, {error}, {DELETED})"
        if has_places:
            file, row, is_shown = PLACE
            window = f"({equal} ORDER BY {last_first} {_ALL})"
            windows += [f"{sql} OVER {window} AS {name}" for sql, name in _PLACES.items()]
            # Of two rows of the table, only its MERGE can replace both: no file has this name.
            replaced |= {file: "if(_tidegate_files > 1, '', _tidegate_in_file)", row: "_tidegate_in_row"}
            replaced[is_shown] = "_tidegate_in_shown"
        if self._left:
            # The last change may leave a value as it is that another change of its order gives.
            first_first = ", ".join(f"{column} ASC" for column in arrival)
            windows += self._last_given_values(f"{equal} ORDER BY {first_first} {_ALL}")
            replaced |= self._given
            missing = (f"if({_VALUE}{place} IS NULL, {name}, NULL)" for place, name in enumerate(self._left_names))
            replaced[LEFT] = f"if(_tidegate_anchor, {LEFT}, array_compact(array({', '.join(missing)})))"
        ranked = f"SELECT *, {', '.join(windows)} FROM ({rows})"
        return self._replace_values(replaced, f"{ranked}) WHERE _tidegate_place = 1")

    def _number_lives(self, rows: str) -> str:
        deletes = (
            f"coalesce(sum(if({DELETED}, 1, 0)) OVER (PARTITION BY {self._keys} ORDER BY {self._oldest_first} "
            f"ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)"
        )
        truncates = f" + size(filter({self._truncates}, t -> t <= {self._order}))" if self._truncates else ""
        return f"SELECT *, {deletes}{truncates} AS _tidegate_life FROM ({rows})"

    def _fill_left_values(self, rows: str) -> str:
        if not self._left:
            return rows
        life = f"PARTITION BY {self._keys}, _tidegate_life ORDER BY {self._oldest_first} {_RUNNING_FRAME}"
        # The windows of the ties have these names.
        columns = ", ".join(f"{_VALUE}{place}" for place in range(len(self._left)))
        windows = ", ".join(self._last_given_values(life))
        return self._replace_values(self._given, f"SELECT * EXCEPT ({columns}), {windows} FROM ({rows}))")

    def _interval_starts(self, rows: str) -> str:
        by_key = f"OVER (PARTITION BY {self._keys} ORDER BY {self._oldest_first})"
        values = f"struct({', '.join(map(self._comparable_value, self._history.tracked or ()))})"
        continues = f"lag(_tidegate_life) {by_key} <=> _tidegate_life"
        if self._history.tracked:
            continues += f" AND lag({values}) {by_key} <=> {values}"
        return f"SELECT *, {DELETED} OR NOT ({continues}) AS _tidegate_starts FROM ({rows})"

    def _validity_times(self, rows: str, stored: StoredRows, *, is_tail: bool) -> str:
        by_key = f"OVER (PARTITION BY {self._keys} ORDER BY {self._oldest_first}"
        start = self._validity_bound()
        if is_tail:
            start = f"if(_tidegate_anchor, _tidegate_was.{VALID_FROM}, {start})"
        until = f"lead({self._order}) {by_key})"
        if self._truncates:
            until = f"least({until}, array_min(filter({self._truncates}, t -> t > {self._order})))"
        columns = [
            f"last_value(if(_tidegate_starts, struct({start} AS value), NULL), true) {by_key} {_RUNNING_FRAME}).value "
            f"AS {VALID_FROM}",
            f"{until} AS _tidegate_until",
            f"NOT lead(_tidegate_starts, 1, true) {by_key}) AS {JOINED}",
        ]
        if stored.has_places:
            newest = f"max(if(_tidegate_new, NULL, {self._order})) OVER (PARTITION BY {self._keys})"
            columns.append(f"_tidegate_new AND coalesce({self._order} < {newest}, false) AS {LATE}")
        timed = f"SELECT *, {', '.join(columns)} FROM ({rows})"
        return (
            f"SELECT *, {self._validity_bound('_tidegate_until')} AS {VALID_TO}, "
            f"_tidegate_until IS NULL AND NOT {DELETED} AS {IS_CURRENT} FROM ({timed})"
        )

    def _select_rows(self, rows: str, stored: StoredRows, *, only_changed: bool) -> str:
        more = [LEFT] if self._history.leaves_values else []
        if stored.has_places:
            more += [*PLACE, LATE, f"_tidegate_new AND _tidegate_equal > 1 AS {TIED}"]
        columns = [*map(quote_name, self._types), VALID_FROM, VALID_TO, IS_CURRENT, DELETED, CHANGED_BATCH]
        query = f"SELECT {', '.join([*columns, f'current_timestamp() AS {CHANGED_AT}', JOINED, *more])} FROM ({rows})"
        if only_changed:
            query += f" WHERE _tidegate_new OR NOT (_tidegate_was <=> {self._state()})"
        return query

    def _state(self, side: str = "") -> str:
        """Return SQL of what a merge may change in a stored row."""
        parts = [f"{side}{column} AS {column}" for column in (VALID_FROM, VALID_TO, IS_CURRENT, JOINED)]
        if self._left:
            values = ", ".join(f"{side}{quote_name(column)}" for column in self._left)
            parts += [f"{side}{LEFT} AS {LEFT}", f"{exact_json(f'struct({values})')} AS values"]
        return f"struct({', '.join(parts)})"

    def _last_given_values(self, window: str) -> list[str]:
        """Return windows: the last value that a change gives to each column which it may leave as it is."""
        return [
            f"last_value(if(NOT _tidegate_anchor AND array_contains({LEFT}, {name}), NULL, "
            f"struct({quote_name(column)} AS value)), true) OVER ({window}) AS {_VALUE}{place}"
            for place, (column, name) in enumerate(zip(self._left, self._left_names, strict=True))
        ]

    @property
    def _given(self) -> dict[str, str]:
        return {quote_name(column): f"{_VALUE}{place}.value" for place, column in enumerate(self._left)}

    @property
    def _left_names(self) -> list[str]:
        return [literal(column) for column in self._left]

    def _replace_values(self, values: dict[str, str], source: str) -> str:
        """Return a query of a source with other values of some columns.

        Args:
            values: SQL by column, quoted.
            source: a query that ends with the closing parenthesis and, if there are any, conditions.
        """
        others = f"* EXCEPT ({', '.join(values)})" if values else "*"
        return f"SELECT {', '.join([others, *(f'{sql} AS {column}' for column, sql in values.items())])} FROM ({source}"

    def _validity_bound(self, order: str | None = None) -> str:
        """Return SQL of an order as `valid_from` and `valid_to` have it: the order of a change, or a struct of it."""
        parts = [part.path for part in self._rules.order]
        if order is not None:
            parts = [f"{order}.o{place}" for place in range(1, len(parts) + 1)]
        if not self._history.names:
            return parts[0]
        named = ", ".join(f"{sql} AS {quote_name(name)}" for sql, name in zip(parts, self._history.names, strict=True))
        return f"struct({named})" if order is None else f"if({order} IS NULL, NULL, struct({named}))"

    def _order_of_bound(self, bound: str) -> str:
        """Return SQL of the order that `valid_to` has."""
        return (
            order_struct(f"{bound}.{quote_name(name)}" for name in self._history.names)
            if self._history.names
            else order_struct([bound])
        )

    def _comparable_value(self, column: str) -> str:
        """Return SQL of a value that can be compared: Spark compares no maps and no VARIANT."""
        kind = self._types[column][1]
        value = comparable_value(kind, quote_name(column))
        return value if _is_comparable_type(kind) else exact_json(f"struct({value} AS value)")


def _is_comparable_type(kind: Type) -> bool:
    match kind:
        case Map():
            return False
        case Array(element):
            return _is_comparable_type(element)
        case Struct(fields):
            return all(_is_comparable_type(field.type) for field in fields)
        case Simple(name):
            return name != "variant"
    return True
