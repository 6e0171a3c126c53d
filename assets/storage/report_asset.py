"""What the assets that report on a table of inventories have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dagster as dg

from tidegate.assets.bronze.report import page_key
from tidegate.platform.core.config.table import TableSpec

STORAGE = "storage"


def report_key(spec: TableSpec, kind: str) -> dg.AssetKey:
    """Returns the key of a report on a table of inventories."""
    return dg.AssetKey([STORAGE, f"{spec.name}_{kind}"])


def report_asset(
    spec: TableSpec, key: dg.AssetKey, description: str
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Returns the decorator of a report on a table of inventories."""
    return dg.asset(
        key=key,
        deps=[page_key(spec)],
        group_name=STORAGE,
        owners=list(spec.owners),
        kinds={"s3"},
        description=description,
    )
