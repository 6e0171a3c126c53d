"""The DynamoDB table through which Delta commits are coordinated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.config.lake import LakeConfig


@dataclass(frozen=True, slots=True)
class CommitTable:
    """The DynamoDB table through which Delta commits are coordinated. Its keys are those of Delta's S3DynamoDBLogStore.

    Attributes:
        name: the log store's default.
        keys: the attributes of the primary key and their kinds.
        expiry: the attribute with the time (epoch seconds) after which DynamoDB deletes an item.
    """

    name: str = "delta_log"
    keys: tuple[tuple[str, str], ...] = (("tablePath", "HASH"), ("fileName", "RANGE"))
    expiry: str = "expireTime"

    def definition(self) -> dict[str, Any]:
        """Return the table as DynamoDB's CreateTable takes it. The log store makes the same table."""
        return {
            "TableName": self.name,
            "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in self.keys],
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name, _ in self.keys],
            "BillingMode": "PAY_PER_REQUEST",
        }

    def time_to_live(self) -> dict[str, Any]:
        """Return the expiry of items as DynamoDB's UpdateTimeToLive takes it."""
        return {"Enabled": True, "AttributeName": self.expiry}


def wanted_commit_table(config: LakeConfig) -> CommitTable | None:
    """Return the DynamoDB table that a lake needs; None if only S3's conditional writes coordinate its commits."""
    return CommitTable() if config.lake.commits == "dynamodb" else None
