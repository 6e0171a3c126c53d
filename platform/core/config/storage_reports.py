"""The reports on the storage in a table of inventories, as `lake.yaml` sets them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tidegate.platform.core.config.fields import Cron, Model, Text
from tidegate.platform.core.config.inventories import ConfigurationId
from tidegate.platform.core.storage.advice import IMMEDIATE_CLASSES
from tidegate.platform.core.storage.transitions import Target


class StorageReportsSpec(Model):
    """The reports on what the objects of inventories cost, how they grow, what would cost less, and what is wrong."""

    prices: Annotated[tuple[Text, ...], Field(min_length=1)]
    """CSV files of AWS's price lists of the region: paths, relative to the folder of lake.yaml."""
    schedule: Cron = "0 6 * * *"
    """When the reports are made again, as a cron schedule in UTC."""
    depth: Annotated[int, Field(ge=1, le=10)] = 1
    """Number of folders of a prefix in the reports."""
    months: Annotated[int, Field(ge=1, le=36)] = 12
    """Months for which advice must be worth its cost."""
    classes: Annotated[tuple[Target, ...], Field(min_length=1)] = IMMEDIATE_CLASSES
    """Storage classes that advice is for. By default those from which objects can be read at once."""
    forecast_months: Annotated[int, Field(ge=1, le=24)] = 3
    """Months that are forecast."""
    configuration: ConfigurationId | None = None
    """The configuration that counts where a bucket has several. By default no bucket may have several."""
