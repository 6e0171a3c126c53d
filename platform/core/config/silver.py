"""The configuration of a silver table."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from tidegate.platform.core.config.fields import Condition, Cron, Model, Text


class SilverSpec(Model):
    """How the silver table is merged from bronze. Exactly one of `schedule` and `every`."""

    keys: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Columns that identify a row."""
    order: Text
    """Column that shows which of two rows of one key is newer."""
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

    @field_validator("keys")
    @classmethod
    def _distinct(cls, keys: tuple[str, ...]) -> tuple[str, ...]:
        # Spark resolves columns case-insensitively.
        twice = {key for key in keys if [other.lower() for other in keys].count(key.lower()) > 1}
        if twice:
            raise ValueError(f"{', '.join(sorted(twice))} is named twice")
        return keys

    @model_validator(mode="after")
    def _one_trigger(self) -> Self:
        if (self.schedule is None) == (self.every is None):
            raise ValueError('give exactly one of schedule (cron, "*/10 * * * *") and every (seconds)')
        return self
