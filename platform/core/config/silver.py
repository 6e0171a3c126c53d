"""The configuration of a silver table."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticKnownError

from tidegate.platform.core.config.fields import (
    ClusterColumns,
    Condition,
    Cron,
    Expression,
    Model,
    Name,
    Reference,
    Text,
    Type,
    wrap_text,
)
from tidegate.platform.core.config.output import ExportSpec
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.schema.column_reference import is_expression, root_of
from tidegate.platform.core.schema.column_types import fold_name
from tidegate.platform.core.schema.value_encoding import encoding


def _checked_encoding(text: str) -> str:
    encoding(text)
    return text


EncodingName = Annotated[Text, AfterValidator(_checked_encoding)]
#: One column, or a list of columns: the first of them counts first.
References = Annotated[
    tuple[Reference, ...],
    BeforeValidator(wrap_text, json_schema_input_type=Reference | list[Reference]),
]

_TRACKED = ("track_history_columns", "track_history_except_columns")
_IGNORED = ("ignore_null_updates_columns", "ignore_null_updates_except_columns")


class SilverSpec(Model):
    """How the silver table is merged from bronze. Exactly one of `schedule`, `every` and `automation`."""

    preset: Annotated[Literal["debezium", "dms", "snapshots"] | None, Field(alias="from")] = None
    """What bronze has: the change feed `debezium` or `dms`, which gives other options, or `snapshots`, which are full
    dumps: the rows of one have an equal `order`. None for plain rows."""
    keys: Annotated[tuple[Reference, ...], Field(min_length=1)]
    """Columns of silver, nested fields or SQL expressions over them, that identify a row."""
    row: Expression | None = None
    """SQL expression of a struct whose fields become the columns, such as `coalesce(after, before)`, or of an array of
    such structs, each of which is a row."""
    order: Annotated[References, Field(validate_default=True)] = ()
    """Column, nested field or SQL expression, or a list of them, that shows which of two rows of one key is newer."""
    stored_as: Literal["scd1", "scd2"] = "scd1"
    """`scd1`: the newest row of each key. `scd2`: its history, with a row for each time without a change of values."""
    track_history_columns: tuple[Text, ...] = ()
    """Columns whose change begins a new row of the history. By default all but those that `order` names."""
    track_history_except_columns: tuple[Text, ...] = ()
    """Columns whose change begins no new row of the history: the row gets the new value."""
    on_tie: Literal["last", "fail"] = "last"
    """What two different rows of one key with an equal order do: the last one counts, or the merge fails."""
    apply_as_deletes: Condition | None = None
    """SQL condition over bronze's row: where it holds, the row is deleted."""
    delete_when: Condition | None = None
    """Another name of `apply_as_deletes`."""
    apply_as_truncates: Condition | None = None
    """SQL condition over bronze's row: where it holds, every older row of the table is deleted."""
    skip_when: Condition | None = None
    """SQL condition over bronze's row: where it holds, the row is not a change, and is only counted."""
    expect: dict[Name, Condition] = Field(default_factory=dict)
    """SQL conditions over bronze's row, by name: rows for which they do not hold are counted, and fail a check."""
    expect_or_drop: dict[Name, Condition] = Field(default_factory=dict)
    """The same, and such rows do not enter silver. Bronze keeps them."""
    expect_or_fail: dict[Name, Condition] = Field(default_factory=dict)
    """The same, and the merge fails before it changes anything."""
    columns: tuple[Text, ...] = ()
    """Columns that silver has. All of them by default."""
    except_columns: tuple[Text, ...] = ()
    """Columns that silver does not have."""
    rename: dict[Text, Text] = Field(default_factory=dict)
    """New names of columns. All other options of columns name the new ones."""
    cast: dict[Text, Type] = Field(default_factory=dict)
    """SQL types of columns, by Spark's CAST: `abc` as a number fails the merge, and 1.9 as `int` is 1."""
    derive: dict[Text, Expression] = Field(default_factory=dict)
    """Columns and their values, which are SQL expressions over bronze's row. A column of that name is replaced."""
    ignore_null_updates: bool = False
    """Whether a NULL in a newer row leaves the value of each column as it is."""
    ignore_null_updates_columns: tuple[Text, ...] = ()
    """Columns whose value a NULL leaves as it is."""
    ignore_null_updates_except_columns: tuple[Text, ...] = ()
    """Columns that a NULL replaces. It leaves the value of all others as it is."""
    unavailable: Text | None = None
    """Text that stands for a value that did not change: the value of the column stays as it is."""
    decode: dict[Text, EncodingName] = Field(default_factory=dict)
    """Encodings of columns: `days`, `milliseconds`, `microseconds`, `nanoseconds`, `time_milliseconds`,
    `time_microseconds`, `time_nanoseconds`, `base64`, `decimal(p, s)`."""
    on_removed: Literal["ignore", "full"] = "ignore"
    """What a file's removal from bronze does: nothing, or a full merge."""
    schedule: Cron | None = None
    """Cron schedule of five fields."""
    every: Annotated[int, Field(ge=1)] | None = None
    """Seconds between two checks for new rows, by a sensor."""
    automation: Literal["eager"] | Cron | None = None
    """A condition of Dagster's declarative automation: `eager`, when the bronze table has new rows, or a cron schedule,
    at which the table is merged if there are new rows. Dagster's UI shows why a merge ran."""
    tombstone_days: Annotated[int, Field(ge=1)] = 30
    """Days for which a deleted key is remembered, so that a late older row does not bring it back."""
    cluster_by: ClusterColumns | None = None
    """Up to four columns of silver by which maintenance sorts its rows into files. If they are its keys, a merge reads
    only files that may have a changed key. With none in the list, the table is clustered by none; without the list it
    stays as it is."""
    export: ExportSpec | None = None
    """Where each change of the table is written as files, for readers that know no Delta."""

    @field_validator("keys", "order")
    @classmethod
    def _require_distinct(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        # Spark resolves columns case-insensitively.
        twice = {name for name in names if [fold_name(other) for other in names].count(fold_name(name)) > 1}
        if twice:
            raise BadSetting(f"{', '.join(sorted(twice))} is named twice")
        return names

    @field_validator("order")
    @classmethod
    def _require_order(cls, order: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if not order and info.data.get("preset") != "debezium":
            raise PydanticKnownError("missing")
        return order

    @model_validator(mode="after")
    def _check_exclusive_options(self) -> Self:
        for names in (
            ("apply_as_deletes", "delete_when"),
            ("columns", "except_columns"),
            ("ignore_null_updates", *_IGNORED),
            _TRACKED,
        ):
            given = [name for name in names if getattr(self, name)]
            if len(given) > 1:
                raise BadSetting(f"give one of {' and '.join(given)}")
        keeps = [name for name in ("unavailable", "ignore_null_updates", *_IGNORED) if getattr(self, name)]
        if self.on_tie == "fail" and (keeps or self.preset == "debezium"):
            option = keeps[0] if keeps else "from: debezium"
            raise BadSetting(f"on_tie: fail compares whole rows, which {option} does not have; remove one of them")
        return self

    @field_validator("rename", "cast", "derive")
    @classmethod
    def _require_separate_names(cls, columns: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        for names in (columns, columns.values() if info.field_name == "rename" else ()):
            lower = [fold_name(name) for name in names]
            if twice := {name for name in names if lower.count(fold_name(name)) > 1}:
                raise BadSetting(f"{', '.join(sorted(twice))} is named twice: a column has one name and one value")
        return columns

    @model_validator(mode="after")
    def _require_shapes(self) -> Self:
        made = {fold_name(name) for name in (*self.rename.values(), *self.derive)}
        for name in self.rename:
            for option in ("keys", "columns", "except_columns", "cast", "decode", "derive"):
                if fold_name(name) in {fold_name(given) for given in getattr(self, option)} - made:
                    raise BadSetting(f"{option} names {name}, which `rename` calls {self.rename[name]}: use that name")
        if both := {fold_name(name) for name in self.rename.values()} & {fold_name(name) for name in self.derive}:
            raise BadSetting(f"{sorted(both)[0]} is in rename and in derive: a column has one value")
        return self

    @model_validator(mode="after")
    def _check_snapshot_options(self) -> Self:
        options = ("apply_as_truncates", "unavailable", "ignore_null_updates", *_IGNORED)
        if self.preset == "snapshots" and (given := [name for name in options if getattr(self, name)]):
            raise BadSetting(f"a dump has all rows with all values, so {given[0]} has no effect; remove it")
        return self

    @model_validator(mode="after")
    def _check_distinct_columns(self) -> Self:
        names = [*self.expect, *self.expect_or_drop, *self.expect_or_fail]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise BadSetting(f"{', '.join(twice)} is the name of two expectations: each is one asset check")
        return self

    @model_validator(mode="after")
    def _check_history_options(self) -> Self:
        if self.is_history and "tombstone_days" in self.model_fields_set:
            raise BadSetting("tombstone_days has no effect with stored_as: scd2, which keeps every delete; remove it")
        if self.is_history and self.export:
            raise BadSetting("export is for tables with one row of each key, and a history has several; remove it")
        for name in _TRACKED:
            if getattr(self, name) and not self.is_history:
                raise BadSetting(f"{name} is for a history: give stored_as: scd2, or remove it")
        return self

    @model_validator(mode="after")
    def _check_single_trigger(self) -> Self:
        if [self.schedule, self.every, self.automation].count(None) != 2:
            raise BadSetting(
                'give exactly one of schedule (cron, "*/10 * * * *"), every (seconds) and automation (eager, or cron)'
            )
        return self

    @property
    def is_history(self) -> bool:
        """Whether silver has the history of each key, instead of its newest row."""
        return self.stored_as == "scd2"

    @property
    def leaves_values(self) -> bool:
        """Whether a row may leave the value of a column as it is."""
        options = (self.unavailable, self.ignore_null_updates, *(getattr(self, name) for name in _IGNORED))
        return self.preset == "debezium" or any(options)

    def ignores_nulls_of(self, column: str) -> bool:
        """Return whether a NULL in a newer row leaves the value of a column of silver as it is."""
        name = fold_name(column)
        if name in {fold_name(root_of(part)) for part in (*self.keys, *self.order)}:
            return False
        if self.ignore_null_updates_columns:
            return name in {fold_name(given) for given in self.ignore_null_updates_columns}
        excepted = {fold_name(given) for given in self.ignore_null_updates_except_columns}
        return self.ignore_null_updates or (bool(excepted) and name not in excepted)

    @property
    def keeps_keys(self) -> bool:
        """Whether silver has a column of its own for the key, because the row alone does not show it."""
        return any(is_expression(key) for key in self.keys)

    @property
    def keeps_order(self) -> bool:
        """Whether silver has a column of its own for the order, because the row alone does not show it."""
        if self.preset == "debezium" or self.row is not None or self.apply_as_truncates is not None:
            return True
        return any(map(self._is_derived, self.order))

    def _is_derived(self, part: str) -> bool:
        if is_expression(part):
            return True
        names = {fold_name(part), fold_name(root_of(part))}
        listed = {fold_name(name) for name in self.columns}
        shaped = (*self.rename, *self.rename.values(), *self.cast, *self.derive)
        changed = {fold_name(name) for name in (*self.except_columns, *self.decode, *shaped)}
        return bool(names & changed) or bool(listed and not names & listed)

    @property
    def deletes(self) -> str | None:
        """The condition of deletes, by either name."""
        return self.apply_as_deletes or self.delete_when
