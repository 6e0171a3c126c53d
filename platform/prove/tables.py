"""The tables of a run: a lake.yaml with each way of a file to rows, and what the comparison reads of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.config.commits import Commits
from tidegate.platform.prove.names import RunNames

#: The variable with the secret of the suppression list. Each run has its own.
SECRET = "TIDEGATE_PROVE_FORGET_SECRET"

_MICROS = "unix_micros({})"


@dataclass(frozen=True)
class ComparedTable:
    """A table, and the values that are compared: SQL expressions, in the order of the oracle's rows.

    Attributes:
        name: without the id of the run, which is in the table's SQL name.
    """

    name: str
    values: tuple[str, ...]


#: In the order of the report.
COMPARED = (
    ComparedTable("bronze.orders", ("id", "amount", _MICROS.format("updated_at"))),
    ComparedTable("silver.orders", ("id", "amount", _MICROS.format("updated_at"))),
    ComparedTable("bronze.customers", ("id", "name", "mail", _MICROS.format("updated_at"), "deleted")),
    ComparedTable("silver.customers", ("id", "name", "mail", _MICROS.format("updated_at"))),
    ComparedTable("bronze.products", ("sku", "price", "stock")),
    ComparedTable("bronze.accounts", ("op", "before.id", "before.balance", "after.id", "after.balance", "source.lsn")),
    ComparedTable("silver.accounts", ("id", "balance")),
)


def lake_body(names: RunNames, commits: Commits = "dynamodb") -> dict[str, Any]:
    """Return the lake.yaml of a run."""
    landing = f"s3://{names.landing}"
    return {
        "lake": {"root": f"s3://{names.lake}/lake", "commits": commits},
        "queues": [{"name": names.base, "dlq": names.dlq}],
        "buckets": [names.landing],
        "window": 0,
        "discovery": False,
        "intake": {"seconds": 10, "threads": 2, "every": 1},
        "forget": {"secret": {"env": SECRET}, "days": 30},
        "tables": [
            {
                "name": names.table("orders"),
                "prefix": f"{landing}/orders/",
                "format": "parquet",
                "mode": "register",
                "silver": {"keys": ["id"], "order": "updated_at", "on_removed": "full", "every": 10},
            },
            {
                "name": names.table("customers"),
                "prefix": f"{landing}/customers/",
                "format": "json",
                "mode": "load",
                "columns": {
                    "id": "int",
                    "name": "string",
                    "mail": "string",
                    "updated_at": "timestamp",
                    "deleted": "boolean",
                },
                "personal": {"subject": "id", "columns": ["name", "mail"]},
                "silver": {"keys": ["id"], "order": "updated_at", "delete_when": "deleted", "every": 10},
            },
            {
                "name": names.table("products"),
                "prefix": f"{landing}/products/",
                "format": "csv",
                "mode": "load",
                "columns": {"sku": "string", "price": "double", "stock": "int"},
            },
            {
                "name": names.table("accounts"),
                "prefix": f"{landing}/accounts/",
                "format": "json",
                "mode": "load",
                "columns": {
                    "op": "string",
                    "before": "struct<id int, balance int>",
                    "after": "struct<id int, balance int>",
                    "source": "struct<lsn bigint>",
                },
                "silver": {"from": "debezium", "keys": ["id"], "every": 10},
            },
        ],
    }
