"""What `export` of silver tables needs: files of changes below its folder."""

from __future__ import annotations

from tidegate.platform.cloud.address import Address
from tidegate.platform.cloud.statement import Statement
from tidegate.platform.core.config.lake import LakeConfig


def export_folders(config: LakeConfig) -> list[str]:
    """Return the `s3://` folders of the exports."""
    return [spec.output_root for spec in config.tables if spec.exports and spec.output_root]


def export_statement(config: LakeConfig, *actions: str) -> Statement:
    """Return the statement for one role. It has no resources if no table has an export."""
    return Statement(
        "WriteExports",
        actions,
        tuple(map(Address.of(config).folder, export_folders(config))),
        "`export` of silver tables: files of changes, and the end of those that no manifest will name",
    )
