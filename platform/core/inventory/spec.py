"""Which buckets' inventories a table of inventories should have, and how S3 should make them."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tidegate.platform.core.config.fields import Model

#: A name of a bucket, in which `*` matches any characters.
BucketPattern = Annotated[str, StringConstraints(pattern=r"^[a-z0-9.*-]{1,63}$")]
ConfigurationId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]


class InventoriesSpec(Model):
    """The inventory configurations that `tidegate inventory enable` gives to buckets, and `tidegate check` compares."""

    buckets: Annotated[tuple[BucketPattern, ...], Field(min_length=1)]
    """Names of source buckets, or patterns with `*`, of the account of the destination bucket."""
    configuration: ConfigurationId = "tidegate"
    """Name of the inventory configuration in each bucket."""
    frequency: Literal["daily", "weekly"] = "daily"
    """How often S3 makes an inventory."""
    format: Literal["parquet", "orc", "csv"] = "parquet"
    """Format of the inventories' files."""
    versions: Literal["all", "current"] = "all"
    """Whether noncurrent versions and delete markers are listed."""

    @property
    def has_patterns(self) -> bool:
        """Whether the buckets of the account must be listed to know which are wanted."""
        return any("*" in pattern for pattern in self.buckets)

    def chooses(self, bucket: str) -> bool:
        """Return whether a name or a pattern is that of a bucket."""
        return any(fnmatchcase(bucket, pattern) for pattern in self.buckets)

    def chosen(self, existing: Iterable[str]) -> list[str]:
        """Return the buckets that the names and patterns choose.

        Args:
            existing: names of the account's buckets. Needed only for patterns.
        """
        named = {pattern for pattern in self.buckets if "*" not in pattern}
        return sorted(named | set(filter(self.chooses, existing)))
