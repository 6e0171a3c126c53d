"""A table of inventories: which buckets it covers, how S3 should make the inventories, and which reports it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator

from tidegate.platform.core.config.fields import Cron, Model, Text
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.storage.advice import IMMEDIATE_CLASSES, Target

#: A name of a bucket, in which `*` matches any characters. With `!` before it, such buckets are left out.
BucketPattern = Annotated[str, StringConstraints(pattern=r"^!?[a-z0-9.*-]{1,63}$")]
_EXCLUSION_MARK = "!"
ConfigurationId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]

#: Fields of tables that have no meaning with `mode: inventory`, each with the reason.
_NOT_OF_INVENTORIES: Mapping[str, str] = {
    "row_queue": "brings rows, and inventories are files",
    "format": "is in the manifest of each inventory",
    "policy": "says what new columns do, and a new field of S3 Inventory always becomes a column",
    "columns": "gives columns their types, and AWS documents those of an inventory",
    "partition_columns": "gives folders their types, and the table has the partitions bucket and configuration",
    "cluster_by": "sorts rows by columns, and the table has the partitions bucket and configuration",
    "widen": "makes columns wider, and AWS documents the types of an inventory",
    "text": "says how lines of text are read, and AWS documents the files of an inventory",
    "json_options": "says where JSON files have their rows, and inventories are not JSON",
    "csv": "says how CSV files are written, and AWS documents that",
    "inventory": "is compared with the files of the table, and S3 lists its own deliveries in no inventory",
    "completion": "names the signals of datasets, and those of inventories are known: manifest.checksum",
    "after_load": "removes single files, and an inventory has several: let a lifecycle rule of the bucket expire them",
    "on_overwrite": "is about files alone, and a delivery always replaces the rows of the one before",
    "on_removed": "is about files alone, and the rows of a bucket are replaced as a whole",
    "silver": "merges rows by key, and the rows of a bucket are replaced as a whole",
    "personal": "is about persons, and an inventory lists objects",
}
#: Fields whose names in lake.yaml are others.
_SPELLED = {"policy": "schema", "json_options": "json"}
#: Fields that only such a table has.
_OF_INVENTORIES = ("inventories", "storage_reports")


class InventoriesSpec(Model):
    """The inventory configurations that `tidegate inventory enable` gives to buckets, and `tidegate check` compares."""

    buckets: Annotated[tuple[BucketPattern, ...], Field(min_length=1)]
    """Names of source buckets, or patterns with `*`, of the account of the destination bucket. Those with `!` before
    them are left out, such as `"!acme-logs"`."""
    configuration: ConfigurationId = "tidegate"
    """Name of the inventory configuration in each bucket."""
    frequency: Literal["daily", "weekly"] = "daily"
    """How often S3 makes an inventory."""
    format: Literal["parquet", "orc", "csv"] = "parquet"
    """Format of the inventories' files."""
    versions: Literal["all", "current"] = "all"
    """Whether noncurrent versions and delete markers are listed."""

    @field_validator("buckets")
    @classmethod
    def _choose_some(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if all(pattern.startswith(_EXCLUSION_MARK) for pattern in value):
            raise BadSetting("leaves buckets out and names none: add a name or a pattern without `!`")
        return value

    @property
    def included(self) -> tuple[str, ...]:
        """The names and patterns of the buckets that are wanted."""
        return tuple(pattern for pattern in self.buckets if not pattern.startswith(_EXCLUSION_MARK))

    @property
    def excluded(self) -> tuple[str, ...]:
        """The names and patterns of the buckets that are left out of these."""
        return tuple(
            pattern.removeprefix(_EXCLUSION_MARK) for pattern in self.buckets if pattern.startswith(_EXCLUSION_MARK)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The buckets that are wanted by name, whether or not they exist."""
        return tuple(name for name in self.included if "*" not in name and self.chooses(name))

    @property
    def has_patterns(self) -> bool:
        """Whether the buckets of the account must be listed to know which are wanted."""
        return any("*" in pattern for pattern in self.included)

    def chooses(self, bucket: str) -> bool:
        """Return whether a name or a pattern is that of a bucket, and the bucket is not left out."""
        return _matches(bucket, self.included) and not _matches(bucket, self.excluded)

    def select_buckets(self, existing: Iterable[str]) -> list[str]:
        """Return the buckets that the names and patterns choose.

        Args:
            existing: names of the account's buckets. Needed only for patterns.
        """
        return sorted({*self.names, *filter(self.chooses, existing)})


def _matches(bucket: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(bucket, pattern) for pattern in patterns)


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


def inventory_problem(mode: str | None, given: Mapping[str, Any]) -> str | None:
    """Return why a table of inventories cannot have its settings. None if it can, or if it is another table.

    Args:
        mode: of the table.
        given: the fields that `lake.yaml` gives the table, with their values.
    """
    if mode != "inventory":
        found = next((name for name in _OF_INVENTORIES if given.get(name)), None)
        return f"`{found}` needs `mode: inventory`; remove one of them" if found else None
    if "//" in str(given.get("prefix", "")).partition("://")[2]:
        return "`prefix` has an empty folder (`//`), and S3 writes inventories into none: remove a `/`"
    for name, why in _NOT_OF_INVENTORIES.items():
        if given.get(name) not in (None, "keep", "append"):
            return f"`{_SPELLED.get(name, name)}` {why}; remove it from the table with `mode: inventory`"
    return None
