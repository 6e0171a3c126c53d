"""The configuration of one table and of its silver table."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from tidegate.platform.core.csv_options import CsvOptions
from tidegate.platform.core.file_format import Format, Mode, mode_of
from tidegate.platform.core.lake_fields import (
    MAX_FILES_DEFAULT,
    MAX_LAG_DEFAULT,
    POLICY_DEFAULT,
    WINDOW_DEFAULT,
    Condition,
    Cron,
    MaxFiles,
    MaxLag,
    Model,
    Name,
    Owner,
    Prefix,
    SimpleType,
    Text,
    Type,
    Window,
)
from tidegate.platform.core.schema.table_schema import Policy
from tidegate.platform.core.table_key import TableKey


class SilverSpec(Model):
    """How the silver table is merged from bronze. Exactly one of `schedule` and `every`."""

    keys: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Columns that identify a row."""
    order: Text
    """Column that says which of two rows of one key is newer."""
    delete_when: Condition | None = None
    """SQL condition over the row: where it holds, the row is deleted."""
    on_removed: Literal["ignore", "full"] = "ignore"
    """What a file's removal from bronze does: nothing, or a full merge."""
    schedule: Cron | None = None
    """Cron schedule of five fields."""
    every: Annotated[int, Field(ge=1)] | None = None
    """Seconds between two looks, by a sensor."""
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


class TableSpec(Model):
    """One table: where its files land and what becomes of them."""

    name: Name
    """SQL name: `bronze.<name>`, `silver.<name>`, `ledger.<name>`."""
    prefix: Prefix
    """`s3://bucket/folder/` that holds the table's files, with its trailing "/"."""
    format: Format | None = None
    """Format of the files; by default each file's ending says it."""
    mode: Mode | None = None
    """`register`: Parquet files join the table where they lie (write-once keys). `load`: rows are copied.
    By default Parquet is registered, CSV and JSON are loaded."""
    columns: dict[Text, Type] = Field(default_factory=dict)
    """Spark SQL types of columns, instead of the inferred ones, at the table's birth."""
    partition_columns: dict[Text, SimpleType] = Field(default_factory=dict)
    """Spark SQL types of the `k=v` folders, all of them or none; string each where none is given."""
    policy: Annotated[Policy, Field(alias="schema")] = POLICY_DEFAULT
    """What a file with new columns does. `evolve`: they are added to the table. `strict`: the file is quarantined."""
    csv: CsvOptions = CsvOptions()
    """How the table's CSV files are written, where they are not as RFC 4180 says."""
    window: Window = WINDOW_DEFAULT
    """Seconds that hints are gathered before a run."""
    max_files: MaxFiles = MAX_FILES_DEFAULT
    """Most files of one batch."""
    max_lag: MaxLag = MAX_LAG_DEFAULT
    """Seconds that an event may wait beyond the window before the table counts as behind."""
    owners: tuple[Owner, ...] = ()
    """Owners shown by Dagster: `team:<name>` or an email address."""
    description: Text | None = None
    """Description shown by Dagster."""
    silver: SilverSpec | None = None
    """The silver table; none when absent."""

    @field_validator("mode")
    @classmethod
    def _only_parquet_registers(cls, mode: Mode | None, info: ValidationInfo) -> Mode | None:
        format = info.data.get("format")
        if mode == "register" and format in ("csv", "json"):
            raise ValueError(f"only parquet files can be registered, {format} files must be loaded: use `mode: load`")
        return mode

    @cached_property
    def table_key(self) -> TableKey:
        """The table key of the prefix."""
        return TableKey.from_uri(self.prefix)

    @property
    def registers(self) -> bool | None:
        """Whether the files are registered; None where that is left to the first one's ending."""
        mode = self.mode or (mode_of(self.format) if self.format else None)
        return None if mode is None else mode == "register"

    def resolved(self, format: Format) -> TableSpec:
        """The same table with its format and mode filled in, `format` being what the file's ending says."""
        known = self.format or format
        return self.model_copy(update={"format": known, "mode": self.mode or mode_of(known)})
