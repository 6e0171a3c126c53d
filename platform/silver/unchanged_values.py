"""The SQL of values that a row leaves as they are: that of the newest row which has one counts, whenever it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.platform.core.config.silver_columns import CHANGED_AT, CHANGED_BATCH, DELETED, GIVERS, LAST_DELETE, LEFT
from tidegate.platform.core.forgetting.persons import NOBODY, Persons
from tidegate.platform.core.schema.column_reference import type_at
from tidegate.platform.core.schema.column_types import Type, quote_name
from tidegate.platform.core.schema.exact_json import read_exact_json
from tidegate.platform.core.schema.field_alignment import align_value
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.merge_mode import MergeMode
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.silver.newest_rows import (
    GIVEN_AT,
    GIVEN_BY,
    left_record_sql,
    order_from_json,
    order_struct,
    order_type,
)

#: Types of a column: in bronze, and in silver.
ColumnTypes = Mapping[str, tuple[Type, Type]]


def value_in_silver(types: ColumnTypes, name: str, side: str = "", replaced: str | None = None) -> str:
    """Return SQL of the value of a column in silver's type.

    Args:
        name: of the column.
        side: of the row, such as `s.`.
        replaced: SQL of the value whose fields stay where bronze lacks them. None: they become NULL.
    """
    return align_value(*types[name], f"{side}{quote_name(name)}", replaced)


def was_left_condition(rules: MergeRules, column: str, recorded: str) -> str:
    """Return the condition that silver's row `t` does not have its value of a column from its own row of bronze.

    A NULL that would not be a change was none either when the table did not have the column yet.

    Args:
        recorded: the condition that `LEFT` has the column.
    """
    return f"({recorded} OR t.{quote_name(column)} IS NULL)" if column in rules.ignored_nulls else recorded


def kept_value(rules: MergeRules, column: str, *, has_left: bool) -> str:
    """Return SQL of what a row `s` that does not give a column keeps of the row `t` that it replaces.

    Forgetting finds a value by the persons of its row, or by those that `LEFT` names. So a value that no row gives any
    more stays only if each of its persons is one whom `s` names.

    Args:
        column: a column of silver, or one of which `s` lacks fields.
        has_left: whether the row `t` has `LEFT`.
    """
    own = f"t.{quote_name(column)}"
    if rules.persons is None:
        return own
    theirs = rules.persons.sql("t.")
    if has_left:
        entry = f"t.{LEFT}[{literal(column)}]"
        theirs = f"if({entry} IS NULL, {theirs}, {recorded_givers(entry)})"
    return _value_if_named(own, theirs, rules.persons.sql("s."))


def recorded_givers(entry: str) -> str:
    """Return SQL of the persons whose value a row of silver has, by an entry of `LEFT`. NULL if it does not say."""
    return f"{read_exact_json(entry, f'struct<{GIVERS}: array<string>>')}.{GIVERS}"


class LeftValues:
    """The values of columns that rows may leave, when a row `s` of a merge meets the row `t` of its key in silver.

    Both have, for each of these columns, a value and the order from which it is: that of the row that gave it, or that
    of the last delete before the row, if no row did. The value with the greater order counts. Of equal orders, that of
    `s` came later. A delete among them takes all values that are older. So the result does not depend on the order in
    which rows come, or on how many merges take them.

    Args:
        silver: the columns of the silver table.
        is_partial: whether a row of the merge leaves a value, so that `s` has `GIVEN_AT`.
        truncate: values that are older than this order are gone. JSON of a struct.
    """

    def __init__(
        self,
        rules: MergeRules,
        types: ColumnTypes,
        silver: TableSchema,
        mode: MergeMode,
        *,
        is_partial: bool,
        truncate: str | None,
    ) -> None:
        self._types, self._columns, self._mode, self._is_partial = types, tuple(rules.kept), mode, is_partial
        self._rules = rules
        some = [f"size(t.{LEFT}) > 0", *(was_left_condition(rules, column, "false") for column in self._columns)]
        #: The condition that silver's row `t` may take a value of an older row. Only a MERGE can do that.
        self.may_mix = f"coalesce({' OR '.join(condition for condition in some if condition != 'false')}, false)"
        self._order_type = order_type(_stored_type(path, rules, silver) for path in rules.order_paths)
        self._truncate = None if truncate is None else order_from_json(rules, truncate)
        self._ours, self._theirs = (order_struct(f"{side}.{part.path}" for part in rules.order) for side in "st")

    def mixed_condition(self, newer: str) -> str:
        """Return the condition over a row `s` and a row `t` that their values mix, or that a delete is recorded.

        Only a MERGE can do that. No row `s` deletes or leaves a value.

        Args:
            newer: the condition that `s` is newer.
        """
        takes = f"NOT coalesce({newer}, false) AND {self.may_mix}"
        if not self._rules.records_deletes:
            return takes
        return f"{takes} OR t.{DELETED} OR coalesce(map_contains_key(t.{LEFT}, {literal(LAST_DELETE)}), false)"

    def newer_row_assignments(self) -> dict[str, str]:
        """Return the new values of a row `t` that a newer row `s` replaces, by column."""
        if self._mode is MergeMode.FULL or not (self._is_partial or self._rules.records_deletes):
            return {}  # `s` has all values
        # The source has all rows of bronze for these keys.
        is_whole = self._mode in (MergeMode.REREAD, MergeMode.SINCE)

        def choose_value(given: str, mixed: str) -> str:
            return f"if(t.{CHANGED_BATCH} > 0, {given}, {mixed})" if is_whole else mixed

        values, given_at, given_by = {}, {}, {}
        for place, column in enumerate(self._columns if self._is_partial else ()):
            given = self._given_value(column, f"s.{GIVEN_BY}[{place}]")
            ours = f"s.{GIVEN_AT}[{place}]"
            theirs = f"if(t.{DELETED}, {self._theirs}, {self._recorded_order(column)})"
            mine = f"if(t.{DELETED}, NULL, {self._own_value(column)})"
            values[column] = choose_value(given, f"if({_counts(ours, theirs)}, {given}, {mine})")
            given_at[column] = f"greatest({ours}, {theirs})"
            givers = f"if(t.{DELETED}, {NOBODY}, {self._recorded_givers(column)})"
            given_by[column] = f"if({_counts(ours, theirs)}, s.{GIVEN_BY}[{place}], {givers})"
        last_delete = self._later_delete(self._deleted_at, f"if(t.{DELETED}, {self._theirs}, {self._recorded_delete})")
        return {
            **values,
            LEFT: choose_value(
                f"s.{LEFT}", left_record_sql(self._rules, "s.", self._ours, given_at, given_by, last_delete)
            ),
        }

    def older_row_assignments(self) -> tuple[str, str]:
        """Return whether a row `t` takes a value or a delete of an older row `s`, and its assignments then."""
        found, values, given_at, given_by = [], {}, {}, {}
        for place, column in enumerate(self._columns):
            givers = f"s.{GIVEN_BY}[{place}]" if self._is_partial else self._persons("s.")
            given = f"if(s.{DELETED}, NULL, {self._given_value(column, givers)})"
            ours = f"s.{GIVEN_AT}[{place}]" if self._is_partial else self._ours
            ours = f"if(s.{DELETED}, {self._ours}, {ours})"
            counts = _counts(ours, self._recorded_order(column))
            found.append(counts)
            values[column] = f"if({counts}, {given}, {self._own_value(column)})"
            given_at[column] = f"greatest({ours}, {self._recorded_order(column)})"
            givers = f"if(s.{DELETED}, {NOBODY}, {givers})"
            given_by[column] = f"if({counts}, {givers}, {self._recorded_givers(column)})"
        if self._truncate is not None:
            found.append(self._is_any_truncated)
        takes = f"{self.may_mix} AND ({' OR '.join(found)})"
        deleted = f"if(s.{DELETED}, {self._ours}, {self._deleted_at})"
        if self._rules.records_deletes:
            takes = f"({takes} OR {_counts(deleted, self._recorded_delete)})"
        last_delete = self._later_delete(deleted, self._recorded_delete)
        return f"s.{CHANGED_BATCH} IS NOT NULL AND {takes}", self._set(values, given_at, given_by, last_delete, "s.")

    def without_truncated(self) -> tuple[str, str]:
        """Return whether a row `t` without a row `s` has values of truncated rows, and its assignments then."""
        values = {column: self._own_value(column) for column in self._columns}
        given_at = {column: self._recorded_order(column) for column in self._columns}
        given_by = {column: self._recorded_givers(column) for column in self._columns}
        stays = f" AND NOT t.{CHANGED_BATCH} > 0" if self._mode in (MergeMode.REREAD, MergeMode.SINCE) else ""
        last_delete = self._later_delete(self._recorded_delete)
        condition = f"{self.may_mix}{stays} AND ({self._is_any_truncated})"
        return condition, self._set(values, given_at, given_by, last_delete, "")

    def clauses(self, *, is_truncated: bool) -> tuple[str | None, str | None]:
        """Return the clauses of a MERGE for a row `t` with an older row `s`, and for one without a row `s`.

        Args:
            is_truncated: silver may have values of rows that are older than the truncate.
        """
        if self._mode is MergeMode.FULL or not self._columns:
            return None, None
        condition, update = self.older_row_assignments()
        late = f"WHEN MATCHED AND {condition} THEN UPDATE SET {update}"
        if not is_truncated:
            return late, None
        condition, update = self.without_truncated()
        return late, f"WHEN NOT MATCHED BY SOURCE AND {condition} THEN UPDATE SET {update}"

    def _set(
        self,
        values: Mapping[str, str],
        given_at: Mapping[str, str],
        given_by: Mapping[str, str],
        last_delete: str | None,
        side: str,
    ) -> str:
        assignments = [f"t.{quote_name(column)} = {value}" for column, value in values.items()]
        left = left_record_sql(self._rules, "t.", self._theirs, given_at, given_by, last_delete, self._others_entries)
        assignments.append(f"t.{LEFT} = {left}")
        assignments.append(f"t.{CHANGED_AT} = {'s.' + CHANGED_AT if side else 'current_timestamp()'}")
        if self._mode is MergeMode.AFTER_RESET:
            assignments.append(f"t.{CHANGED_BATCH} = 0")
        return ", ".join(assignments)

    def _given_value(self, column: str, givers: str) -> str:
        """Return SQL of a value of `s` in silver's type. Fields that bronze lacks stay if they are of its givers."""
        kept = f"t.{quote_name(column)}"
        if self._rules.persons is not None:
            kept = _value_if_named(kept, self._recorded_givers(column), givers)
        return value_in_silver(self._types, column, "s.", kept)

    @property
    def _others_entries(self) -> str:
        """SQL of the entries of values of other columns, such as those that bronze does not have any more."""
        known = ", ".join(map(literal, (*self._columns, LAST_DELETE)))
        return f"filter(map_entries(t.{LEFT}), e -> NOT array_contains(array({known}), e.key))"

    def _own_value(self, column: str) -> str:
        own = f"t.{quote_name(column)}"
        return own if self._truncate is None else f"if({self._is_truncated(column)}, NULL, {own})"

    def _is_truncated(self, column: str) -> str:
        return self._is_older(self._given_entry(column))

    def _is_older(self, at: str) -> str:
        return f"coalesce({at} < {self._truncate}, false)"

    def _recorded_order(self, column: str) -> str:
        """Return SQL of the order from which silver's value is, as far as no truncate took it."""
        return self._is_since_truncate(self._given_entry(column))

    def _is_since_truncate(self, at: str) -> str:
        return at if self._truncate is None else f"get(filter(array({at}), at -> at >= {self._truncate}), 0)"

    def _given_entry(self, column: str) -> str:
        given = f"coalesce({self._entry(column)}, {self._entry(LAST_DELETE)})"
        return f"if({self._was_left(column)}, {given}, {self._theirs})"

    def _was_left(self, column: str) -> str:
        return was_left_condition(
            self._rules, column, f"coalesce(map_contains_key(t.{LEFT}, {literal(column)}), false)"
        )

    def _recorded_givers(self, column: str) -> str:
        """Return SQL of the persons of the row that gave silver's value. NULL if it is not recorded."""
        recorded = recorded_givers(f"t.{LEFT}[{literal(column)}]")
        return f"if({self._was_left(column)}, {recorded}, {self._persons('t.')})"

    def _persons(self, side: str) -> str:
        return (self._rules.persons or Persons(())).sql(side)

    def _entry(self, name: str) -> str:
        return read_exact_json(f"t.{LEFT}[{literal(name)}]", self._order_type)

    @property
    def _deleted_at(self) -> str:
        """SQL of the order of the last delete before `s` among the rows of the merge."""
        return f"s.{GIVEN_AT}[{len(self._columns)}]" if self._is_partial else f"CAST(NULL AS {self._order_type})"

    @property
    def _recorded_delete(self) -> str:
        """SQL of the order of the last delete before `t`, as far as no truncate took it."""
        return self._is_since_truncate(self._entry(LAST_DELETE))

    def _later_delete(self, *orders: str) -> str | None:
        """Return SQL of the last of deletes. None if silver does not record it."""
        if not self._rules.records_deletes:
            return None
        return f"greatest({', '.join(orders)})" if len(orders) > 1 else orders[0]

    @property
    def _is_any_truncated(self) -> str:
        """The condition that a value of `t`, or the delete before it, is older than the truncate."""
        deletes = [self._is_older(self._entry(LAST_DELETE))] if self._rules.records_deletes else []
        return " OR ".join([*(self._is_truncated(column) for column in self._columns), *deletes])


def _value_if_named(value: str, theirs: str, ours: str) -> str:
    """Return SQL of a value that stays if each of the persons `theirs` is one of `ours`. It is known whose it is."""
    return f"if(coalesce(size(array_except({theirs}, {ours})) = 0, false), {value}, NULL)"


def _counts(ours: str, theirs: str) -> str:
    """Return the condition that a value of the order `ours` replaces one of the order `theirs`.

    NULL is not an order.
    """
    return f"coalesce({ours} >= {theirs}, {ours} IS NOT NULL)"


def _stored_type(path: Sequence[str], rules: MergeRules, silver: TableSchema) -> Type:
    """Return the type of a part of the order in silver."""
    have = silver.find_column(path[0])
    return type_at(path, rules.columns) if have is None else type_at((have.name, *path[1:]), silver.fields)
