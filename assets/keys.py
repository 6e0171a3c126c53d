"""Every asset key, and the partitions of the tables.

A key is public: lineage, history and the assets of users name it.
"""

from __future__ import annotations

from typing import Literal, get_args

import dagster as dg

from tidegate.platform.core.config.lake import LakeConfig

#: The partitions of `bronze`: one a table, added when the table gets its first file.
TABLES = dg.DynamicPartitionsDefinition(name="tables")
BRONZE = dg.AssetKey(["bronze"])
CATALOG = dg.AssetKey(["catalog"])
FORGOTTEN = dg.AssetKey(["forgotten"])
LAKE_COSTS = dg.AssetKey(["lake_costs"])
LAKE_HEALTH = dg.AssetKey(["lake_health"])
#: First part of the keys of the assets of maintenance.
MAINTENANCE = "maintenance"
MAINTAINED_BRONZE = dg.AssetKey([MAINTENANCE, "bronze"])
MAINTAINED_LAKE = dg.AssetKey([MAINTENANCE, "lake"])
#: First part of the keys of the reports on tables of inventories.
STORAGE = "storage"
Report = Literal["cost", "growth", "advice", "audit", "uploads"]


def bronze_key(table: str) -> dg.AssetKey:
    """Return the asset key of a configured bronze table: `bronze/<table>`.

    Args:
        table: the SQL name of the table.
    """
    return dg.AssetKey(["bronze", table])


def silver_key(table: str) -> dg.AssetKey:
    """Return the asset key of a silver table: `silver_<table>`.

    Args:
        table: the SQL name of the table.
    """
    return dg.AssetKey([f"silver_{table}"])


def maintained_silver_key(table: str) -> dg.AssetKey:
    """Return the key of the asset that maintains a silver table."""
    return dg.AssetKey([MAINTENANCE, f"silver_{table}"])


def maintenance_keys(config: LakeConfig) -> list[dg.AssetKey]:
    """Return the keys of the assets of maintenance of a lake."""
    silver = [maintained_silver_key(spec.name) for spec in config.tables if spec.silver]
    return [MAINTAINED_BRONZE, *silver, MAINTAINED_LAKE]


def report_key(table: str, report: Report) -> dg.AssetKey:
    """Return the key of a report on a table of inventories."""
    return dg.AssetKey([STORAGE, f"{table}_{report}"])


def report_keys(table: str) -> list[dg.AssetKey]:
    """Return the keys of all reports on a table of inventories."""
    return [report_key(table, report) for report in get_args(Report)]


def bucket_key(bucket: str) -> dg.AssetKey:
    """Return the asset key of a bucket of sources."""
    return dg.AssetKey(["s3", bucket])


def queue_key(name: str) -> dg.AssetKey:
    """Return the asset key of a queue."""
    return dg.AssetKey(["sqs", name])


def queue_keys(config: LakeConfig) -> list[dg.AssetKey]:
    """Return the asset keys of all queues."""
    return [queue_key(spec.name) for spec in config.every_queue]


def route_key(name: str) -> dg.AssetKey:
    """Return the asset key of a route."""
    return dg.AssetKey(["routes", name])
