"""For how long a lake keeps what it no longer needs itself."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tidegate.platform.core.config.fields import Model, Name


class MaintainSpec(Model):
    """The retention of a lake's objects, in days."""

    versions: Annotated[int, Field(ge=1, le=3650)] = 7
    """Days for which earlier versions of loaded and silver tables can be read. A longer retention in the properties of
    a table counts. A run or a query that takes longer than a day may miss files with the least value, 1."""
    intake: Annotated[int, Field(ge=2, le=3650)] = 90
    """Days for which the intake log (`lake.intake`) is kept."""
    quarantine: Annotated[int, Field(ge=7, le=3650)] | None = None
    """Days for which quarantined messages and the texts of quarantined rows are kept. For ever, unless it is given: a
    message may be the only copy of its row."""
    inventory: Name | None = None
    """Name of the table with `mode: inventory` that has inventories of the lake's own bucket. Files that no version of
    a large table needs are then found in the newest of them, instead of in a listing."""
