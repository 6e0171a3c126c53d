"""The reports on the storage in a table of inventories, as `lake.yaml` sets them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tidegate.platform.core.config.fields import Cron, Model, Text
from tidegate.platform.core.inventory.spec import ConfigurationId


class StorageReportsSpec(Model):
    """The assets that say what the objects of the inventories cost."""

    prices: Annotated[tuple[Text, ...], Field(min_length=1)]
    """CSV files of AWS's price lists of the region: paths, relative to the folder of lake.yaml."""
    schedule: Cron = "0 6 * * *"
    """When the reports are made again, as a cron schedule in UTC."""
    depth: Annotated[int, Field(ge=1, le=10)] = 1
    """Number of folders of a prefix in the reports."""
    configuration: ConfigurationId | None = None
    """Only inventories of this configuration count. By default all, if each bucket has one."""
