"""Tables of the AWS Glue Data Catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from botocore.exceptions import ClientError

from tidegate.platform.lake.aws.answers import code_of

_MISSING, _EXISTS = "EntityNotFoundException", "AlreadyExistsException"


class Glue:
    """Reads and writes entries of databases. Each method raises botocore's errors.

    Args:
        connect: returns a client of Glue. It is called at the first use, because AWS's description of Glue is large.
    """

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect

    @cached_property
    def _client(self) -> Any:
        return self._connect()

    def table(self, database: str, name: str) -> dict[str, Any] | None:
        """Return an entry. None if there is none of that name, or no such database."""
        try:
            return dict(self._client.get_table(DatabaseName=database, Name=name)["Table"])
        except ClientError as error:
            if code_of(error) == _MISSING:
                return None
            raise

    def tables(self, database: str) -> dict[str, dict[str, Any]] | None:
        """Return all entries of a database by name. None if there is no such database."""
        try:
            pages = self._client.get_paginator("get_tables").paginate(DatabaseName=database)
            return {table["Name"]: table for page in pages for table in page["TableList"]}
        except ClientError as error:
            if code_of(error) == _MISSING:
                return None
            raise

    def create(self, database: str, table: Mapping[str, Any]) -> None:
        """Create an entry, and its database if that does not exist."""
        try:
            self._client.create_table(DatabaseName=database, TableInput=dict(table))
        except ClientError as error:
            if code_of(error) != _MISSING:
                raise
            self._create_database(database)
            self._client.create_table(DatabaseName=database, TableInput=dict(table))

    def update(self, database: str, table: Mapping[str, Any], version: str | None) -> None:
        """Replace an entry, if it has not been changed since it had the given version.

        Glue keeps no copy of the version before: a copy for each new column would reach Glue's limit some day.
        """
        only = {"VersionId": version} if version else {}
        self._client.update_table(DatabaseName=database, TableInput=dict(table), SkipArchive=True, **only)

    def delete(self, database: str, name: str) -> None:
        """Delete an entry. No effect if it is gone already."""
        try:
            self._client.delete_table(DatabaseName=database, Name=name)
        except ClientError as error:
            if code_of(error) != _MISSING:
                raise

    def _create_database(self, database: str) -> None:
        try:
            self._client.create_database(DatabaseInput={"Name": database})
        except ClientError as error:
            if code_of(error) != _EXISTS:
                raise
