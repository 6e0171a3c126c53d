"""Which buckets' inventories a table of inventories should have, and how S3 should make them."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from tidegate.platform.core.config.fields import Model

#: A name of a bucket, in which `*` matches any characters. With `!` before it, such buckets are left out.
BucketPattern = Annotated[str, StringConstraints(pattern=r"^!?[a-z0-9.*-]{1,63}$")]
_EXCLUSION_MARK = "!"
ConfigurationId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]


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
            raise ValueError("leaves buckets out and names none: add a name or a pattern without `!`")
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

    def chosen(self, existing: Iterable[str]) -> list[str]:
        """Return the buckets that the names and patterns choose.

        Args:
            existing: names of the account's buckets. Needed only for patterns.
        """
        return sorted({*self.names, *filter(self.chooses, existing)})


def _matches(bucket: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(bucket, pattern) for pattern in patterns)
