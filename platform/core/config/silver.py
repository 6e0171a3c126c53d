"""The configuration of a silver table."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from tidegate.platform.core.config.fields import Condition, Cron, Model, Reference
from tidegate.platform.core.schema.column_reference import is_expression


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


#: One column, or a list of columns: the first of them counts first.
References = Annotated[
    tuple[Reference, ...],
    BeforeValidator(_listed, json_schema_input_type=Reference | list[Reference]),
    Field(min_length=1),
]


class SilverSpec(Model):
    """How the silver table is merged from bronze. Exactly one of `schedule` and `every`."""

    keys: Annotated[tuple[Reference, ...], Field(min_length=1)]
    """Columns, nested fields or SQL expressions that identify a row."""
    order: References
    """Column, nested field or SQL expression, or a list of them, that shows which of two rows of one key is newer."""
    on_tie: Literal["last", "fail"] = "last"
    """What two different rows of one key with an equal order do: the last one counts, or the merge fails."""
    delete_when: Condition | None = None
    """SQL condition over the row: where it holds, the row is deleted."""
    on_removed: Literal["ignore", "full"] = "ignore"
    """What a file's removal from bronze does: nothing, or a full merge."""
    schedule: Cron | None = None
    """Cron schedule of five fields."""
    every: Annotated[int, Field(ge=1)] | None = None
    """Seconds between two checks for new rows, by a sensor."""
    tombstone_days: Annotated[int, Field(ge=1)] = 30
    """Days for which a deleted key is remembered, so that a late older row does not bring it back."""

    @field_validator("keys", "order")
    @classmethod
    def _distinct(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        # Spark resolves columns case-insensitively.
        twice = {name for name in names if [other.lower() for other in names].count(name.lower()) > 1}
        if twice:
            raise ValueError(f"{', '.join(sorted(twice))} is named twice")
        return names

    @model_validator(mode="after")
    def _one_trigger(self) -> Self:
        if (self.schedule is None) == (self.every is None):
            raise ValueError('give exactly one of schedule (cron, "*/10 * * * *") and every (seconds)')
        return self

    @property
    def keeps_keys(self) -> bool:
        """Whether silver has a column of its own for the key, because the row alone does not show it."""
        return any(is_expression(key) for key in self.keys)

    @property
    def keeps_order(self) -> bool:
        """Whether silver has a column of its own for the order, because the row alone does not show it."""
        return any(is_expression(part) for part in self.order)

    @property
    def named(self) -> tuple[str, ...]:
        """The columns and nested fields that keys and order name, without expressions."""
        return tuple(name for name in (*self.keys, *self.order) if not is_expression(name))
