"""The rules of a merge: what a row of bronze is in silver, which rows are of one key, and which of them is newer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import KEY, ORDER, left_out_names
from tidegate.platform.core.forgetting.persons import Persons
from tidegate.platform.core.schema.casts import cast
from tidegate.platform.core.schema.column_reference import is_expression, path_of, quote_path, root_of, type_at
from tidegate.platform.core.schema.column_types import Field, Struct, Type, fold_name, quote_name
from tidegate.platform.core.schema.comparable_values import is_comparable
from tidegate.platform.core.schema.names import suggest_names
from tidegate.platform.core.schema.sql_literal import parenthesize
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.untyped_parts import UNTYPED
from tidegate.platform.core.schema.value_encoding import NotEncoded, encoding
from tidegate.platform.core.silver.expectations import Expectation, expectations
from tidegate.platform.core.silver.expression_types import LacksColumn, TypesOf, UnsuitableColumns, entries, types_over
from tidegate.platform.core.silver.history import History, history, recorded_history
from tidegate.platform.core.silver.missing_columns import awaited_encodings, with_nulls
from tidegate.platform.core.silver.presets import (
    Inserts,
    comparable_position,
    inserts,
    is_optional,
    unavailable_condition,
)
from tidegate.platform.core.silver.row_value import BRONZE, raw_columns, rows_of, skipped_rows
from tidegate.platform.core.silver.shaped_columns import WrongShape, check_bronze, check_names, shape_columns


@dataclass(frozen=True)
class Part:
    """A part of the key or of the order.

    Attributes:
        path: where silver has it, quoted for SQL.
        column: the column or nested field of bronze that it is. Empty if silver keeps it in a column of its own.
    """

    path: str
    column: tuple[str, ...] = ()


@dataclass(frozen=True)
class MergeRules:
    """How rows of bronze become rows of silver. SQL is over a row of bronze, which has `row` as `ROW_VALUE`.

    Attributes:
        columns: the columns that silver takes or derives from bronze, `_key` and `_order` included.
        values: SQL of the value of each of these columns. That of `_key` is over the values of the others.
        order: parts of the order; the first one counts first.
        order_values: SQL of the value of each part of the order.
        required_order: SQL of the parts of the order that every row should have.
        deleted: condition: the row deletes its key.
        on_tie: what two different rows of one key with an equal order do.
        recorded: properties of the silver table. They record how `_key` and `_order` were derived.
        row: SQL of the struct whose fields are the columns, or of an array of them; None if bronze's columns are.
        inserts: which rows insert a key, if the kind of the feed says it.
        records_left: silver has the newest row of each key, and records in `LEFT` of which rows its values are.
        persons: where a row names its persons, which `LEFT` records as well. None if rows are of nobody.
        is_list: `row` is an array: each element is a row, and nobody knows how many there are before all are read. Of
            equal orders in it, the last one counts.
        skipped: condition: the row is not a change. None if every row is one.
        truncated: condition: older rows of the table are deleted. None if no row does that.
        kept: conditions, by column: the value does not change. Its columns are in the order of `columns`. An older row
            gives no part of key or order, or a row would become newer than it is.
        expectations: conditions that rows should fulfil. Rows that are dropped for one are among `skipped`.
        history: how changes become rows with a time. None if silver has the newest row of each key.
        awaited: columns that `silver` names and bronze does not have yet. They are NULL.
        left_out: fields of `row` that silver does not have, because columns of its own have their names.
        nulls: those of the awaited columns that rows of bronze are given.
        ignored_nulls: columns whose NULL is not a change, if they are among `kept`.
        are_dumps: the rows of an equal order are a full dump: a key that it does not have is deleted.
    """

    columns: tuple[Field, ...]
    values: Mapping[str, str]
    keys: tuple[Part, ...]
    order: tuple[Part, ...]
    order_values: tuple[str, ...]
    required_order: tuple[str, ...]
    deleted: str
    on_tie: Literal["last", "fail"]
    recorded: Mapping[str, str]
    row: str | None
    skipped: str | None
    truncated: str | None
    kept: Mapping[str, str]
    expectations: tuple[Expectation, ...] = ()
    history: History | None = None
    awaited: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    nulls: tuple[Field, ...] = ()
    inserts: Inserts | None = None
    are_dumps: bool = False
    ignored_nulls: Collection[str] = ()
    is_list: bool = False
    records_left: bool = False
    persons: Persons | None = None

    def add_row_value(self, relation: str) -> str:
        """Return a relation of bronze's rows with `row` as `ROW_VALUE`.

        Args:
            relation: the rows of bronze.
        """
        return rows_of(self.row, with_nulls(relation, self.nulls), is_list=self.is_list)

    @property
    def stored(self) -> tuple[Field, ...]:
        """The columns of the silver table, without those that every silver table has."""
        return (*self.columns, *(self.history.fields if self.history else ()))

    @property
    def newest_first(self) -> str:
        """SQL of an ORDER BY that has the newest rows first. NULL is older than every value."""
        return ", ".join(f"{part.path} DESC NULLS LAST" for part in self.order)

    @property
    def oldest_first(self) -> str:
        """SQL of an ORDER BY that has the oldest rows first."""
        return ", ".join(f"{part.path} ASC NULLS FIRST" for part in self.order)

    @property
    def order_paths(self) -> tuple[tuple[str, ...], ...]:
        """Where silver has the parts of the order: a column, and names of fields."""
        return tuple(part.column or (ORDER, f"o{place}") for place, part in enumerate(self.order, 1))

    @property
    def order_types(self) -> tuple[Type, ...]:
        """The types of the parts of the order."""
        return tuple(type_at(path, self.columns) for path in self.order_paths)

    @property
    def records_deletes(self) -> bool:
        """Whether silver records the last delete of a key in `LEFT`, as a row may leave a column that comes later."""
        return self.records_left and any(column in self.kept for column in self.ignored_nulls)

    @property
    def is_plain(self) -> bool:
        """Whether every row is a change of all columns of one key."""
        return not (self.skipped or self.truncated or self.kept)


def merge_rules(
    silver: SilverSpec, bronze: Sequence[Field], types_of: TypesOf, nulls: Sequence[Field] = ()
) -> MergeRules:
    """Return the rules of a silver table.

    Args:
        silver: the options, after a preset has set its own (`resolve_presets`).
        bronze: bronze's columns, without those that Tidegate adds to loaded tables.
        types_of: returns the types of SQL expressions over a row of bronze.
        nulls: columns that `silver` names and bronze does not have yet (`with_awaited`).

    Raises:
        UnsuitableColumns: bronze lacks a column of an option, or `row` is not a struct, or an expression does not fit.
    """
    columns = (*bronze, *(field for field in nulls if field.type != UNTYPED))
    given, is_list = raw_columns(silver, columns, types_of, with_nulls(BRONZE, nulls))
    relation = rows_of(silver.row and parenthesize(silver.row), with_nulls(BRONZE, nulls), is_list=is_list)
    raw = _shape_columns(silver, given, types_over(types_of, relation, entries(derive=silver.derive)))
    raw += (awaited := awaited_encodings(silver, [field.name for field, _ in raw]))
    outputs, left_out = _select_columns(silver, [field for field, _ in raw], [field.name for field, _ in given])
    sql = {field.name: value for field, value in raw}
    kept = _keep_conditions(silver, outputs, sql, ignoring := _ignored_nulls(silver, outputs))
    types_by = partial(types_over, types_of, relation)
    fields, values = _add_types(silver, outputs, sql, lambda sqls, options: types_by(options)(sqls))
    over = f"(SELECT {', '.join(f'{value} AS {quote_name(name)}' for name, value in values.items())} FROM {relation})"
    keys, key, _ = _parts(silver.keys, fields, KEY, types_over(types_of, over, ["keys"]), is_kept=silver.keeps_keys)
    ordered_by = [comparable_position(text, columns) if silver.preset == "debezium" else text for text in silver.order]
    order, newest, order_values = _parts(ordered_by, columns, ORDER, types_by(["order"]), is_kept=silver.keeps_order)
    spans = history(silver, _order_types(order, newest and newest[0], columns), _tracked_columns(silver, fields))
    check_names(fields, silver)
    check_bronze(columns)
    for field, value in [own for own in (key, newest) if own is not None]:
        fields.append(field)
        values[field.name] = value
    return MergeRules(
        columns=tuple(fields),
        values=values,
        keys=keys,
        order=order,
        order_values=order_values,
        required_order=_required_order_values(silver, order_values, nulls),
        deleted=f"coalesce({parenthesize(silver.deletes)}, false)" if silver.deletes else "false",
        on_tie=silver.on_tie,
        recorded=_recorded_properties(silver, key, newest),
        row=silver.row and parenthesize(silver.row),
        skipped=skipped_rows(silver, is_list=is_list),
        is_list=is_list,
        expectations=expectations(silver),
        truncated=silver.apply_as_truncates and parenthesize(silver.apply_as_truncates),
        kept={name: condition for name, condition in kept.items() if name not in _roots((*keys, *order))},
        ignored_nulls=ignoring,
        history=spans,
        awaited=tuple(field.name for field in (*nulls, *(field for field, _ in awaited))),
        left_out=left_out,
        nulls=tuple(nulls),
        inserts=inserts(silver, bronze),
        are_dumps=_are_dumps(silver, keys, order),
        records_left=silver.leaves_values and not silver.is_history,
    )


def _shape_columns(
    silver: SilverSpec, given: Sequence[tuple[Field, str]], types: Callable[[Sequence[str]], Sequence[Type]]
) -> list[tuple[Field, str]]:
    try:
        return shape_columns(silver, given, types)
    except WrongShape as error:
        raise UnsuitableColumns(str(error)) from None


def _recorded_properties(
    silver: SilverSpec, key: tuple[Field, str] | None, newest: tuple[Field, str] | None
) -> dict[str, str]:
    """Return the properties that record what of the options decides the rows of the table."""
    own = _derivation_property(key, silver.keys) | _derivation_property(newest, silver.order)
    return {**recorded_history(silver), **own}


def _derivation_property(own: tuple[Field, str] | None, texts: Sequence[str]) -> dict[str, str]:
    """Return the property that records how a column of silver's own was derived. Empty if silver has none."""
    return {f"tidegate.silver{own[0].name}": "; ".join(" ".join(text.split()) for text in texts)} if own else {}


def _add_types(
    silver: SilverSpec,
    outputs: Sequence[Field],
    sql: Mapping[str, str],
    check: Callable[[Sequence[str], Sequence[str]], object],
) -> tuple[list[Field], dict[str, str]]:
    """Return the columns with the types of `decode` and `cast`, and SQL of their values."""
    decoded = {_require_field(outputs, name, "decode").name: encoding(text) for name, text in silver.decode.items()}
    casts = {_require_field(outputs, name, "cast").name: parse_sql_type(text) for name, text in silver.cast.items()}
    fields, values = [], {}
    for field in outputs:
        raw = value = sql[field.name]
        kind = field.type
        if found := decoded.get(field.name):
            try:
                kind, value = found.type, found.sql(raw, kind)
            except NotEncoded as error:
                raise UnsuitableColumns(
                    f"has a column {field.name!r} that `decode` of `silver` does not fit: it {error}. Remove it from "
                    "`decode`, or correct its entry"
                ) from None
        if wanted := casts.get(field.name):
            kind, value = wanted, cast(kind, wanted, value)
        # A value that stands for no value can neither be decoded nor cast.
        if value != raw and (is_same := unavailable_condition(silver.unavailable, field.type, raw)):
            value = f"if({is_same}, NULL, {value})"
        fields.append(Field(field.name, kind) if value != raw else field)
        values[field.name] = value
    if encoded := [*decoded, *casts]:
        # Spark refuses here what it cannot decode or cast, before a row is read.
        check([values[name] for name in encoded], entries(decode=decoded, cast=casts))
    return fields, values


def _select_columns(
    silver: SilverSpec, fields: Sequence[Field], given: Sequence[str]
) -> tuple[list[Field], tuple[str, ...]]:
    """Return the columns of silver, and names of fields that rows have and that it must leave out."""
    names = {_require_field(fields, name, "columns").name for name in silver.columns} or {
        field.name for field in fields
    }
    names -= {_require_field(fields, name, "except_columns").name for name in silver.except_columns}
    chosen = [field for field in fields if field.name in names]
    left_out = left_out_names(silver, chosen, given)
    return [field for field in chosen if field.name not in left_out], left_out


def _ignored_nulls(silver: SilverSpec, fields: Sequence[Field]) -> list[str]:
    """Return the columns whose NULL is not a change."""
    ignoring = [
        _require_field(fields, name, "ignore_null_updates_columns").name for name in silver.ignore_null_updates_columns
    ]
    others = silver.ignore_null_updates_except_columns
    if silver.ignore_null_updates or others:
        excepted = {_require_field(fields, name, "ignore_null_updates_except_columns").name for name in others}
        ignoring = [field.name for field in fields if field.name not in excepted]
    return ignoring


def _keep_conditions(
    silver: SilverSpec, fields: Sequence[Field], sql: Mapping[str, str], ignoring: Sequence[str]
) -> dict[str, str]:
    """Return for each column that may keep its value the condition that a row does not change it."""
    conditions: dict[str, list[str]] = {field.name: [] for field in fields}
    for name in ignoring:
        conditions[name].append(f"{sql[name]} IS NULL")
    for field in fields:
        if is_same := unavailable_condition(silver.unavailable, field.type, sql[field.name]):
            conditions[field.name].append(f"coalesce({is_same}, false)")
    return {name: " OR ".join(parts) for name, parts in conditions.items() if parts}


def _tracked_columns(silver: SilverSpec, fields: Sequence[Field]) -> list[str]:
    """Return the columns whose change begins a new row of a history."""
    if silver.track_history_columns:
        return [_require_field(fields, name, "track_history_columns").name for name in silver.track_history_columns]
    excepted = {
        _require_field(fields, name, "track_history_except_columns").name
        for name in silver.track_history_except_columns
    }
    # The columns of the order are different in every change. With `row`, `order` is over other columns than silver's.
    order = set() if silver.row is not None else {fold_name(name) for name in silver.order}
    order |= {fold_name(new) for old, new in silver.rename.items() if fold_name(old) in order}
    return [field.name for field in fields if field.name not in excepted and fold_name(field.name) not in order]


def _required_order_values(silver: SilverSpec, order_values: Sequence[str], nulls: Sequence[Field]) -> tuple[str, ...]:
    """Return SQL of the parts of the order that every row should have."""
    awaited = {quote_name(field.name) for field in nulls}
    parts = zip(silver.order, order_values, strict=True)
    required = tuple(
        value
        for text, value in parts
        if value not in awaited and (silver.preset != "debezium" or not is_optional(text))
    )
    return required or tuple(order_values)


def _order_types(order: Sequence[Part], own: Field | None, columns: Sequence[Field]) -> list[Type]:
    """Return the types of the parts of the order, which silver's own column has, or else columns of bronze."""
    if own is not None and isinstance(own.type, Struct):
        return [field.type for field in own.type.fields]
    return [type_at(part.column, columns) for part in order]


def _are_dumps(silver: SilverSpec, keys: Sequence[Part], order: Sequence[Part]) -> bool:
    if silver.preset != "snapshots":
        return False
    if both := [key.column[0] for key in keys if key.column and key in order]:
        raise UnsuitableColumns(
            f"has {both[0]!r} in `keys` and in `order`, so dumps share no key: remove it from `keys`"
        )
    for part in (*keys, *order):
        if len(part.column) > 1:
            path = ".".join(part.column)
            raise UnsuitableColumns(
                f"has {path!r} within a column, and a dump is compared by columns and expressions: write it in "
                f"parentheses in `silver`, ({path})"
            )
    return True


def _parts(
    texts: Sequence[str],
    fields: Sequence[Field],
    own: str,
    types: Callable[[Sequence[str]], Sequence[Type]],
    *,
    is_kept: bool,
) -> tuple[tuple[Part, ...], tuple[Field, str] | None, tuple[str, ...]]:
    """Return the parts of key or order, silver's own column for them with its SQL, and the SQL of each part.

    Args:
        texts: as in `lake.yaml`.
        fields: the columns that they name.
        own: name of silver's own column.
        types: returns the types of SQL expressions over these columns.
        is_kept: whether silver has that column.
    """
    option = "keys" if own == KEY else "order"
    paths = [() if is_expression(text) else _path(text, fields, option) for text in texts]
    sqls = tuple(quote_path(path) if path else parenthesize(text) for text, path in zip(texts, paths, strict=True))
    kinds = types(sqls) if is_kept else [type_at(path, fields) for path in paths]
    _check_comparable(texts, kinds, option)
    if not is_kept:
        return tuple(Part(quote_path(path), path) for path in paths), None, sqls
    names = [f"{own[1]}{place}" for place in range(1, len(sqls) + 1)]
    column = Field(own, Struct(tuple(Field(name, kind) for name, kind in zip(names, kinds, strict=True))))
    struct = f"struct({', '.join(f'{sql} AS {name}' for sql, name in zip(sqls, names, strict=True))})"
    return tuple(Part(quote_path((own, name))) for name in names), (column, struct), sqls


def _check_comparable(texts: Sequence[str], kinds: Sequence[Type], option: str) -> None:
    for text, kind in zip(texts, kinds, strict=True):
        if not is_comparable(kind):
            raise UnsuitableColumns(
                f"has {kind.sql()} in {text!r}, which `{option}` of `silver` names, and Spark does not compare such "
                "values: name an expression of another type instead, such as a value within it"
            )


def _path(text: str, fields: Sequence[Field], option: str) -> tuple[str, ...]:
    path = path_of(text, fields)
    if (
        path is None
        and option == "order"
        and fold_name(root := root_of(text)) not in {fold_name(field.name) for field in fields}
    ):
        raise LacksColumn(_describe_missing_column(text, option, fields), root, option)
    if path is None:
        raise UnsuitableColumns(_describe_missing_column(text, option, fields))
    return path


def _require_field(fields: Sequence[Field], name: str, option: str) -> Field:
    for field in fields:
        if fold_name(field.name) == fold_name(name):
            return field
    raise UnsuitableColumns(_describe_missing_column(name, option, fields))


def _describe_missing_column(name: str, option: str, fields: Sequence[Field]) -> str:
    nearest = suggest_names(name, [field.name for field in fields])
    return f"has no column {name!r}, which `{option}` of `silver` names; {nearest}"


def _roots(parts: Iterable[Part]) -> Collection[str]:
    return {part.column[0] for part in parts if part.column}
