"""The DynamoDB table through which Delta commits are coordinated, for looking at it; only the log store writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CommitEntry:
    """One commit's item, as docs/log-store.md describes it.

    Attributes:
        file_name: the commit's file, its version in 20 digits.
        temp_path: where its bytes are staged, relative to ``_delta_log``.
        complete: seen published, or given up.
    """

    file_name: str
    temp_path: str
    complete: bool

    @property
    def version(self) -> int:
        """The commit's version."""
        return int(self.file_name.partition(".")[0])


@dataclass(frozen=True)
class CommitTableState:
    """The DynamoDB table itself.

    Attributes:
        status: DynamoDB's word, ``ACTIVE`` when it can be used.
        billing: ``PAY_PER_REQUEST`` or ``PROVISIONED``.
        ttl: the attribute that expires items, None when TTL is off.
    """

    status: str
    billing: str
    ttl: str | None


class CommitTable:
    """Looks at the entries of Delta tables.

    Args:
        client: a DynamoDB client.
        name: the table's name.
    """

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self.name = name

    def state(self) -> CommitTableState | None:
        """The table itself, None when there is none.

        Raises:
            ClientError: DynamoDB refused, for example for want of ``dynamodb:DescribeTable``.
        """
        try:
            found = self._client.describe_table(TableName=self.name)["Table"]
        except self._client.exceptions.ResourceNotFoundException:
            return None
        ttl = self._client.describe_time_to_live(TableName=self.name)["TimeToLiveDescription"]
        on = ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
        return CommitTableState(
            found["TableStatus"],
            found.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED"),
            ttl.get("AttributeName") if on else None,
        )

    def newest(self, table_path: str) -> CommitEntry | None:
        """The entry of a Delta table's highest version.

        Args:
            table_path: the table's root with its scheme, without a slash at its end.
        """
        items = self._client.query(
            TableName=self.name,
            ConsistentRead=True,
            ScanIndexForward=False,
            Limit=1,
            KeyConditionExpression="tablePath = :p",
            ExpressionAttributeValues={":p": {"S": table_path}},
        )["Items"]
        return _entry(items[0]) if items else None

    def versions(self, table_path: str) -> set[int]:
        """The versions of a Delta table that have an entry: those of about the last day, and pending ones."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self.name,
            ConsistentRead=True,
            KeyConditionExpression="tablePath = :p",
            ProjectionExpression="fileName",
            ExpressionAttributeValues={":p": {"S": table_path}},
        )
        return {int(item["fileName"]["S"].partition(".")[0]) for page in pages for item in page["Items"]}


def _entry(item: dict[str, Any]) -> CommitEntry:
    return CommitEntry(item["fileName"]["S"], item["tempPath"]["S"], item["complete"]["S"] == "true")
