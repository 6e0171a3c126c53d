"""Compares the log store of a Spark server with the one that lake.yaml asks for."""

from __future__ import annotations

from tidegate.platform.core.config.commits import Commits, commits_of_class, log_store_class

#: Settings of Delta: the class for every scheme, and for each of the two schemes.
LOG_STORE_CLASS = "spark.delta.logStore.class"
LOG_STORE_S3A = "spark.delta.logStore.s3a.impl"
LOG_STORE_S3 = "spark.delta.logStore.s3.impl"


def other_log_store(found: str, commits: Commits) -> str | None:
    """Return a sentence about a server whose log store is not the lake's; None if it is.

    Args:
        found: class of the server's log store; empty when none is set.
        commits: the value in lake.yaml.
    """
    wanted = log_store_class(commits)
    if found == wanted:
        return None
    both = f"{LOG_STORE_S3A} on the server is {found or 'not set'}, and `lake.commits` in lake.yaml is {commits}"
    if other := commits_of_class(found):
        return (
            f"{both}: no commit is lost between the two, but roles, check and doctor follow lake.yaml. Give the server "
            f"{wanted}, or write `commits: {other}` (docs/operate/log-store.md)"
        )
    return f"{both}: commits may be lost. Set {LOG_STORE_S3A} and {LOG_STORE_S3} to {wanted} on the server"
