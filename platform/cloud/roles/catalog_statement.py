"""What `catalog` needs: entries of the Glue Data Catalog."""

from __future__ import annotations

from tidegate.platform.cloud.address import Address
from tidegate.platform.cloud.statement import Statement
from tidegate.platform.core.config.lake import LakeConfig


def catalog_statement(config: LakeConfig) -> Statement:
    """Return the statement. It has no resources if the lake has no `catalog`."""
    catalog = config.catalog
    databases = [name for name in (catalog.bronze, catalog.silver) if name] if catalog else []
    return Statement(
        "Catalog",
        (
            "glue:GetTable",
            "glue:GetTables",
            "glue:CreateTable",
            "glue:UpdateTable",
            "glue:DeleteTable",
            "glue:CreateDatabase",
        ),
        Address.of(config).glue(*databases) if databases else (),
        "`catalog`: the entries of the tables, and their databases if they do not exist",
    )
