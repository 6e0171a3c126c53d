"""The DynamoDB table that coordinates Delta commits: reads its entries and closes old ones."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.errors import BadValue

#: Only our log store makes UUIDs of this version.
_OURS = 8


def is_ours(temp_path: str) -> bool:
    """Return whether our log store staged this file.

    Our log store acknowledges a commit after its publication, others acknowledge it once it is claimed.

    Args:
        temp_path: relative to `_delta_log`.
    """
    try:
        return uuid.UUID(temp_path.rpartition(".")[2]).version == _OURS
    except ValueError:
        return False


def choose_spelling(newest: Mapping[str, CommitEntry]) -> str:
    """Return the spelling under which the log store keeps a table's entries: that of another kind of writer, else the
    newest.

    Args:
        newest: the newest entry of each spelling that has entries. Not empty.

    Raises:
        BadValue: other kinds of writers use two spellings, and do not see each other.
    """
    others = [spelling for spelling, entry in newest.items() if not is_ours(entry.temp_path)]
    if len(others) > 1:
        raise BadValue(
            f"there are entries under {' and '.join(others)}, whose writers do not see each other: stop them all, "
            "delete the items of one, and let all use the other"
        )
    return others[0] if others else max(newest, key=lambda spelling: (newest[spelling].version, spelling))


@dataclass(frozen=True)
class CommitTableAddress:
    """The address of the table in which a log store keeps its entries.

    Attributes:
        name: of the DynamoDB table.
        region: AWS region; None if no setting names one.
        endpoint: URL; None for the region's own.
        ttl: seconds that a completed entry stays at least.
        possibly_lost: number of other writers' commits that the server closed since its start, and that are in no log.
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
        temp_path: where its bytes are staged, relative to `_delta_log`.
        complete: whether the commit was published, or given up.
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
        status: DynamoDB's status; `ACTIVE` if the table can be used.
        billing: `PAY_PER_REQUEST` or `PROVISIONED`.
        ttl: the attribute that expires items; None if TTL is off.
    """

    status: str
    billing: str
    ttl: str | None


class CommitTable:
    """Reads the entries of Delta tables.

    Args:
        client: a DynamoDB client.
        address: the table's address, which the client uses.
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
        """Return the state of the table; None if there is no table.

        Raises:
            ClientError: DynamoDB refused, for example for lack of `dynamodb:DescribeTable`.
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

    def newest_entry(self, table_path: str) -> CommitEntry | None:
        """Return the entry of a Delta table's highest version.

        Args:
            table_path: the table's root with its scheme, without a slash at its end.
        """
        return next(self._query(table_path, ScanIndexForward=False, Limit=1), None)

    def entries(self, table_path: str) -> list[CommitEntry]:
        """Return the entries of a Delta table, by version: the entries of about the last day, and open ones."""
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
            entry: the entry as it was read. An entry that has changed since is left alone.
            evidence: whether the entry shows a commit that is possibly lost, so that it must never expire.

        Returns:
            Whether it was still open.

        Raises:
            ClientError: DynamoDB refused, for example for lack of `dynamodb:UpdateItem`.
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
