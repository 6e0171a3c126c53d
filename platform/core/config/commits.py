"""How the commits of a lake's tables are coordinated: the values of `lake.commits`, and the log store of each."""

from __future__ import annotations

from typing import Literal

#: `dynamodb`: a DynamoDB table has an entry of each commit. `s3`: only S3's conditional writes decide.
Commits = Literal["dynamodb", "s3"]

_LOG_STORES: dict[Commits, str] = {
    "dynamodb": "io.tidegate.storage.DynamoDbLogStore",
    "s3": "io.tidegate.storage.ConditionalS3LogStore",
}


def log_store_class(commits: Commits) -> str:
    """Return the class of the log store by which every Spark server of the lake commits."""
    return _LOG_STORES[commits]


def commits_of_class(log_store: str) -> Commits | None:
    """Return the value that a log store belongs to; None for a store that is not Tidegate's."""
    return next((commits for commits, name in _LOG_STORES.items() if name == log_store), None)
