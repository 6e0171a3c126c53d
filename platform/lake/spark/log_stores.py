"""Compares the log store of a Spark server with the one that lake.yaml asks for."""

from __future__ import annotations

from tidegate.platform.core.config.commits import Commits, commits_of_class, log_store_class

#: Settings of Delta: the class for every scheme, and for each of the two schemes.
LOG_STORE_CLASS = "spark.delta.logStore.class"
LOG_STORE_S3A = "spark.delta.logStore.s3a.impl"
LOG_STORE_S3 = "spark.delta.logStore.s3.impl"


def other_log_store(found: str, commits: Commits, *, of_all: bool = False) -> str | None:
    """Return a sentence about a server whose log store is not the lake's; None if it is.

    Args:
        found: class of the server's log store; empty when none is set.
        commits: the value in lake.yaml.
        of_all: whether `LOG_STORE_CLASS` names it. Delta opens no table while a setting of a scheme is set too.
    """
    wanted = log_store_class(commits)
    if found == wanted:
        return None
    key = LOG_STORE_CLASS if of_all else LOG_STORE_S3A
    both = f"{key} on the server is {found or 'not set'}, and `lake.commits` in lake.yaml is {commits}"
    remedy = (
        f"{f'Unset {key}, and set' if of_all else 'Set'} {LOG_STORE_S3A} and {LOG_STORE_S3} to {wanted} on the server"
    )
    other = commits_of_class(found)
    if other is None:
        return f"{both}: commits may be lost. {remedy}"
    # A server with entries is safe next to every writer that may be at a lake without them.
    unless = (
        ", unless Delta's own store or deltalake up to 1.6.0 shares a table: then stop this server now"
        if other == "s3"
        else ""
    )
    return (
        f"{both}: no commit is lost between the two{unless}. Roles, check and doctor follow lake.yaml. {remedy}, or "
        f"write `commits: {other}` (docs/operate/log-store.md)"
    )
