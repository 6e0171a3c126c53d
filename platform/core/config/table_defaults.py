"""Settings of a table that `lake.yaml` may also give once, as the default of all tables."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from tidegate.platform.core.config.fields import Model
from tidegate.platform.core.schema.table_schema import Policy


class TableDefaults(Model):
    """Settings that each table has of its own, or takes from the lake."""

    window: Annotated[int, Field(ge=0)] = 60
    """Seconds for which hints are collected before a run."""
    max_files: Annotated[int, Field(ge=1, le=10_000)] = 10_000
    """Maximum number of files of one batch."""
    max_lag: Annotated[int, Field(ge=1)] = 1800
    """Seconds that an event may wait beyond the window before the table counts as behind."""
    reconcile_interval: Annotated[int, Field(ge=60)] | None = None
    """Seconds between two listings of the prefix, which find objects without an event."""
    policy: Annotated[Policy, Field(alias="schema")] = "evolve"
    """What a file with new columns does. `evolve`: they are added to the table. `strict`: the file is quarantined.
    `variant`: each JSON object becomes one value of the column `data`, next to the columns of `columns`.
    `rescue`: what no column takes is in the column `_rescued_data`, as JSON text."""

    @property
    def lag_limit(self) -> int:
        """Age in seconds of the oldest event that waits for a table from which on the table counts as behind."""
        return self.window + self.max_lag


def describe_as_defaults(schema: dict[str, Any]) -> None:
    """Change the JSON schema of a section: it ends with these settings, described as defaults of all tables."""
    properties = schema["properties"]
    for name, field in TableDefaults.model_fields.items():
        described = properties.pop(field.alias or name)
        described["description"] = f"Default of all tables: {described['description']}"
        properties[field.alias or name] = described
