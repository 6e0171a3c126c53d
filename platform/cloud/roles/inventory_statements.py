"""What commands and reports need for a table of inventories: configurations, dropped buckets, incomplete uploads."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.platform.cloud.address import Address
from tidegate.platform.cloud.statement import Statement
from tidegate.platform.core.config.lake import LakeConfig

_USED = "`check`, and `inventory enable`, which also puts what differs"


def inventory_statements(config: LakeConfig) -> tuple[Statement, ...]:
    """Return the statements of tables of inventories. Only the last one is of tables without `inventories`, too."""
    address, every = Address.of(config), [spec for spec in config.tables if spec.has_inventories]
    tables = [spec for spec in every if spec.inventories]
    sources = [bucket for spec in tables if spec.inventories for bucket in spec.inventories.included]
    patterns = any("*" in bucket for bucket in sources)
    return (
        Statement("ListBuckets", ("s3:ListAllMyBuckets",), ("*",) if patterns else (), _USED),
        Statement(
            "InventoryConfigurations",
            ("s3:GetInventoryConfiguration", "s3:PutInventoryConfiguration"),
            _arns(address, sources),
            _USED,
        ),
        Statement(
            "InventoryDestinations",
            ("s3:GetBucketPolicy", "s3:PutBucketPolicy"),
            _arns(address, (spec.table_key.bucket for spec in tables)),
            _USED,
        ),
        Statement(
            "DroppedBuckets",
            ("s3:PutObject",),
            tuple(address.objects(spec.table_key.bucket, spec.table_key.prefix) for spec in every),
            "`inventory drop-bucket`",
        ),
    )


def upload_statements(config: LakeConfig, *, reports_only: bool = False) -> tuple[Statement, ...]:
    """Return what finds incomplete multipart uploads in the buckets of tables of inventories.

    Args:
        config: the lake. Without `inventories`, the buckets of a table are not known before they deliver.
        reports_only: only for tables with the report on uploads, not for all that the command takes.
    """
    used = "the report on incomplete uploads" if reports_only else "`inventory uploads`"
    address = Address.of(config)
    some = [spec for spec in config.tables if (spec.storage_reports if reports_only else spec.has_inventories)]
    names = [bucket for spec in some for bucket in (spec.inventories.included if spec.inventories else ("*",))]
    return (
        Statement(
            "IncompleteUploads",
            ("s3:ListBucketMultipartUploads", "s3:GetLifecycleConfiguration"),
            _arns(address, names),
            used,
        ),
        Statement(
            "PartsOfUploads",
            ("s3:ListMultipartUploadParts",),
            tuple(dict.fromkeys(map(address.objects, names))),
            used,
        ),
    )


def _arns(address: Address, buckets: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(address.bucket, buckets)))


def read_inventories(config: LakeConfig) -> Statement:
    """Return the statement to read the inventories that tables name. It has no resources if they name none."""
    folders = dict.fromkeys(spec.inventory for spec in config.tables if spec.inventory)
    return Statement(
        "ReadInventories",
        ("s3:GetObject",),
        tuple(map(Address.of(config).folder, folders)),
        "`inventory`: S3's list of a bucket",
    )
