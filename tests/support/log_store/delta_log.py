"""A Delta table's log in S3 and its entries in DynamoDB, read and written by hand."""

from __future__ import annotations

import re
import uuid
from typing import Any

from tidegate.platform.local.provision import Clients

#: The DynamoDB table of entries, by its default name.
ENTRIES = "delta_log"


def commit_file(version: int) -> str:
    """Return the name of a commit's file."""
    return f"{version:020d}.json"


class DeltaLog:
    """The log of one table.

    Args:
        clients: clients of S3 and DynamoDB.
        location: the table's root, as `s3a://bucket/path`; its scheme is part of the entries' key.
    """

    def __init__(self, clients: Clients, location: str) -> None:
        self._clients = clients
        self.location = location
        self._bucket, _, path = location.partition("://")[2].partition("/")
        self._folder = f"{path}/_delta_log/"

    def spelled(self, scheme: str) -> DeltaLog:
        """Return the same log, with its entries under another scheme."""
        return DeltaLog(self._clients, f"{scheme}://{self.location.partition('://')[2]}")

    def below(self, folder: str) -> DeltaLog:
        """Return the log of a table in a folder of this table, such as `/a/b`; `""` for this table."""
        return DeltaLog(self._clients, self.location + folder)

    def names(self) -> list[str]:
        """Return all names in the log, in order, relative to `_delta_log`."""
        pages = self._clients.s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._folder)
        return [item["Key"].removeprefix(self._folder) for page in pages for item in page.get("Contents", [])]

    def versions(self) -> list[int]:
        """Return the versions that have been published, in order."""
        return [int(name[:20]) for name in self.names() if re.fullmatch(r"\d{20}\.json", name)]

    def publication(self, version: int, *, staged: bool = False) -> str:
        """Return the path of the request that publishes a version, or stages its bytes, as a rule of the proxy."""
        return f"/{self._bucket}/{self._folder}{'.tmp/' if staged else ''}{version:020d}\\.json"

    def read(self, name: str) -> str:
        """Return the content of a file."""
        return self._clients.s3.get_object(Bucket=self._bucket, Key=self._folder + name)["Body"].read().decode()

    def write(self, name: str, body: str) -> None:
        """Put a file into the log."""
        self._clients.s3.put_object(Bucket=self._bucket, Key=self._folder + name, Body=body.encode())

    def create(self, version: int, body: str) -> None:
        """Publish a commit as writers without DynamoDB do. Raises ClientError (412) if the commit exists."""
        key = self._folder + commit_file(version)
        self._clients.s3.put_object(Bucket=self._bucket, Key=key, Body=body.encode(), IfNoneMatch="*")

    def entries(self) -> dict[int, dict[str, Any]]:
        """Return the items of the commits, by version. Empty while there is no DynamoDB table."""
        pages = self._clients.dynamodb.get_paginator("query").paginate(
            TableName=ENTRIES,
            ConsistentRead=True,
            KeyConditionExpression="tablePath = :p",
            ExpressionAttributeValues={":p": {"S": self.location}},
        )
        try:
            return {int(item["fileName"]["S"][:20]): dict(item) for page in pages for item in page["Items"]}
        except self._clients.dynamodb.exceptions.ResourceNotFoundException:
            return {}

    def open_entries(self) -> list[int]:
        """Return the versions whose entries are not complete."""
        return [version for version, entry in self.entries().items() if entry["complete"]["S"] != "true"]

    def claim(self, version: int, staged: str | None = None, *, complete: bool = False) -> None:
        """Write an entry, as Delta's own store does. By default, what it staged is gone."""
        staged = staged or f".tmp/{commit_file(version)}.{uuid.uuid4()}"
        item = {**self._key(version), "tempPath": {"S": staged}, "complete": {"S": str(complete).lower()}}
        self._clients.dynamodb.put_item(TableName=ENTRIES, Item=item)

    def forget(self, *versions: int) -> None:
        """Delete the entries of these versions, by default of all: required after a table is dropped."""
        forgotten = versions or tuple(self.entries())
        assert forgotten, f"{self.location} has no entries"
        for version in forgotten:
            self._clients.dynamodb.delete_item(TableName=ENTRIES, Key=self._key(version))

    def _key(self, version: int) -> dict[str, Any]:
        return {"tablePath": {"S": self.location}, "fileName": {"S": commit_file(version)}}
