"""Statements that several roles need: for tables of inventories, for exports, and for what nobody may delete.

Without the last ones, batches land twice and forgotten persons come back.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.platform.cloud.arns import Address
from tidegate.platform.cloud.roles.lake_arns import LakeArns
from tidegate.platform.cloud.statement import Statement, Statements
from tidegate.platform.core.config.lake import LakeConfig

_READ, _PUT = "`check`, and `inventory enable`", "`inventory enable` puts what differs"

#: Below the lake root. They are written once and never deleted.
KEPT = ("batches/*", "forgotten/requests/*", "operations/*", "lake.json")

#: Those of them that are created under the condition that the key is free. The server puts `batches/….void` without.
CREATED = ("batches/*.json", "forgotten/requests/*", "operations/*", "lake.json")


def inventory_readings(config: LakeConfig) -> Statements:
    """Return what reads the configurations of tables with `inventories`."""
    sources, destinations = _inventory_buckets(config)
    patterns = any("*" in bucket for bucket in sources)
    return (
        Statement("BucketNames", ("s3:ListAllMyBuckets",), ("*",) if patterns else (), _READ),
        Statement("InventoryConfigurations", ("s3:GetInventoryConfiguration",), sources, _READ),
        Statement("InventoryDestinations", ("s3:GetBucketPolicy",), destinations, _READ),
    )


def inventory_statements(config: LakeConfig) -> Statements:
    """Return what changes tables of inventories. Only the last one is of tables without `inventories`, too."""
    address, every = Address.from_config(config), [spec for spec in config.tables if spec.has_inventories]
    sources, destinations = _inventory_buckets(config)
    return (
        Statement("EnableInventories", ("s3:PutInventoryConfiguration",), sources, _PUT),
        Statement("EnableDeliveries", ("s3:PutBucketPolicy",), destinations, _PUT),
        Statement(
            "DroppedBuckets",
            ("s3:PutObject",),
            tuple(address.objects(spec.table_key.bucket, spec.table_key.prefix) for spec in every),
            "`inventory drop-bucket`",
        ),
    )


def _inventory_buckets(config: LakeConfig) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ARNs of the buckets of which `inventories` speak, and of those that get the deliveries."""
    address, tables = Address.from_config(config), [spec for spec in config.tables if spec.inventories]
    sources = (bucket for spec in tables if spec.inventories for bucket in spec.inventories.included)
    return _arns(address, sources), _arns(address, (spec.table_key.bucket for spec in tables))


def upload_statements(config: LakeConfig, *, reports_only: bool = False) -> tuple[Statement, ...]:
    """Return what finds incomplete multipart uploads in the buckets of tables of inventories.

    Args:
        config: the lake. Without `inventories`, the buckets of a table are not known before they deliver.
        reports_only: only for tables with the report on uploads, not for all that the command takes.
    """
    used = "the report on incomplete uploads" if reports_only else "`inventory uploads`"
    address = Address.from_config(config)
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
        tuple(map(Address.from_config(config).folder, folders)),
        "`inventory`: S3's list of a bucket",
    )


def export_folders(config: LakeConfig) -> list[str]:
    """Return the `s3://` folders of the exports."""
    return [spec.output_root for spec in config.tables if spec.exports and spec.output_root]


def export_statement(config: LakeConfig, *actions: str) -> Statement:
    """Return the statement for one role. It has no resources if no table has an export."""
    return Statement(
        "WriteExports",
        actions,
        tuple(map(Address.from_config(config).folder, export_folders(config))),
        "`export` of silver tables: files of changes, and the end of those that no manifest will name",
    )


def kept_statements(arns: LakeArns) -> Statements:
    """Return the statements. They forbid, so no other policy of the role can allow what they name."""
    return (
        Statement(
            "NeverDelete",
            ("s3:DeleteObject", "s3:DeleteObjectVersion"),
            arns.lake(*KEPT),
            "batches, requests to forget, the log of operations and the identity of the lake are kept for ever",
            denies=True,
        ),
        Statement(
            "NeverOverwrite",
            ("s3:PutObject",),
            arns.lake(*CREATED),
            "they are created once, by a put with `If-None-Match`; copies have none",
            # The parts of an upload are not an object yet. Its end is one, and has to have the condition.
            {"Null": {"s3:if-none-match": "true"}, "Bool": {"s3:ObjectCreationOperation": "true"}},
            denies=True,
        ),
    )
