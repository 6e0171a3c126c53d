"""The DynamoDB table through which Delta commits are coordinated, for looking at it and for closing old entries."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

#: UUIDs of this version are made by our log store only.
_OURS = 8
#: What writers that encode paths leave as it is.
_PLAIN = "/!$&'()*+,;=:@~"


def is_ours(temp_path: str) -> bool:
    """Whether our log store staged this: it acknowledges nothing before it is published, others do once it is claimed.

    Args:
        temp_path: relative to ``_delta_log``.
    """
    try:
        return uuid.UUID(temp_path.rpartition(".")[2]).version == _OURS
    except ValueError:
        return False


def spellings(location: str) -> list[str]:
    """The spellings of a table's path under which its entries may be kept, its own first.

    Args:
        location: the table's ``s3a://`` URI, not percent-encoded.
    """
    rest = location.removeprefix("s3a://").rstrip("/")
    paths = dict.fromkeys((rest, quote(rest, safe=_PLAIN)))
    return [f"{scheme}://{path}" for path in paths for scheme in ("s3a", "s3")]


def chosen(newest: Mapping[str, CommitEntry]) -> str:
    """Under which spelling the log store keeps a table's entries: where another kind of writer does, else the newest.

    Args:
        newest: the newest entry of each spelling that has one; one at least.

    Raises:
        ValueError: other kinds of writers use two, and do not see each other.
    """
    others = [one for one, entry in newest.items() if not is_ours(entry.temp_path)]
    if len(others) > 1:
        raise ValueError(
            f"there are entries under {' and '.join(others)}, whose writers do not see each other: stop them all, "
            "delete the items of one, and let all use the other"
        )
    return others[0] if others else max(newest, key=lambda one: (newest[one].version, one))


@dataclass(frozen=True)
class CommitTableAddress:
    """Where a log store keeps its entries.

    Attributes:
        name: of the DynamoDB table.
        region: AWS region, None where nobody says one.
        endpoint: URL, None for the region's own.
        ttl: seconds that a completed entry stays at least.
        possibly_lost: commits of other writers that the server closed since it began, and that are in no log.
    """

    name: str
    region: str | None = None
    endpoint: str | None = None
    ttl: int = 24 * 60 * 60
    possibly_lost: int = 0


@dataclass(frozen=True)
class CommitEntry:
    """One commit's item, as docs/internals/log-store-protocol.md describes it.

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
        address: where it is; the client goes there.
    """

    def __init__(self, client: Any, address: CommitTableAddress) -> None:
        self._client = client
        self.address = address

    @property
    def name(self) -> str:
        """The table's name."""
        return self.address.name

    @property
    def where(self) -> str:
        """Region and endpoint that requests go to."""
        return f"{self._client.meta.region_name} at {self._client.meta.endpoint_url}"

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
        return next(self._query(table_path, ScanIndexForward=False, Limit=1), None)

    def entries(self, table_path: str) -> list[CommitEntry]:
        """The entries of a Delta table, by version: those of about the last day, and open ones."""
        return list(self._query(table_path))

    def _query(self, table_path: str, **how: Any) -> Iterator[CommitEntry]:
        try:
            found = self._client.get_paginator("query").paginate(
                TableName=self.name,
                ConsistentRead=True,
                KeyConditionExpression="tablePath = :p",
                ExpressionAttributeValues={":p": {"S": table_path}},
                **how,
            )
            for page in found:
                yield from map(_entry, page["Items"])
        except self._client.exceptions.ResourceNotFoundException:
            return  # the table is made by the first commit

    def close(self, table_path: str, entry: CommitEntry, *, evidence: bool = False) -> bool:
        """Mark an open entry as complete, as the log store does with a version that has been decided.

        Args:
            table_path: the table's root, as the entry has it.
            entry: as it was read; nothing is done when it has changed since.
            evidence: it tells of a commit that is possibly lost, so it never expires.

        Returns:
            Whether it was open still.

        Raises:
            ClientError: DynamoDB refused, for example for want of ``dynamodb:UpdateItem``.
        """
        expires = {} if evidence else {":expires": {"N": str(int(time.time()) + self.address.ttl)}}
        try:
            self._client.update_item(
                TableName=self.name,
                Key={"tablePath": {"S": table_path}, "fileName": {"S": entry.file_name}},
                UpdateExpression="SET complete = :true" + (", expireTime = :expires" if expires else ""),
                ConditionExpression="complete = :false AND tempPath = :temp",
                ExpressionAttributeValues={
                    ":true": {"S": "true"},
                    ":false": {"S": "false"},
                    ":temp": {"S": entry.temp_path},
                    **expires,
                },
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True


def _entry(item: dict[str, Any]) -> CommitEntry:
    return CommitEntry(item["fileName"]["S"], item["tempPath"]["S"], item["complete"]["S"] == "true")
