"""What `check` and `inventory enable` need for the inventory configurations of a table of inventories."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.platform.cloud.address import bucket_arn
from tidegate.platform.cloud.statement import Statement
from tidegate.platform.core.config.table import TableSpec

_USED = "`check`, and `inventory enable`, which also puts what differs"


def inventory_statements(tables: Iterable[TableSpec]) -> tuple[Statement, ...]:
    """Return the statements. They are empty if no table has `inventories`."""
    tables = [spec for spec in tables if spec.inventories]
    sources = [bucket for spec in tables if spec.inventories for bucket in spec.inventories.buckets]
    patterns = any("*" in bucket for bucket in sources)
    return (
        Statement("ListBuckets", ("s3:ListAllMyBuckets",), ("*",) if patterns else (), _USED),
        Statement(
            "InventoryConfigurations",
            ("s3:GetInventoryConfiguration", "s3:PutInventoryConfiguration"),
            _arns(sources),
            _USED,
        ),
        Statement(
            "InventoryDestinations",
            ("s3:GetBucketPolicy", "s3:PutBucketPolicy"),
            _arns(spec.table_key.bucket for spec in tables),
            _USED,
        ),
    )


def _arns(buckets: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(bucket_arn, buckets)))
