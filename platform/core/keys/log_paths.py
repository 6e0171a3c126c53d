"""The paths of files in the Delta log of a registered table: one spelling each."""

from __future__ import annotations

from urllib.parse import quote

#: Folder of a registered table's prefix that is ours. Its name begins with "_", so nothing in it is a source.
OWN_FOLDER = "_tidegate"
#: Folder of the copies below the prefix.
COPIES = f"{OWN_FOLDER}/copies"


def log_path(key: str, prefix: str) -> str:
    """Return the path of an object in the table's log: relative to the table, percent-encoded as UTF-8."""
    return quote(key[len(prefix) :], safe="/=~")


def copy_key(key: str, etag: str, prefix: str) -> str:
    """Return the key of the copy that enters the table for an object that Spark would misread.

    It contains the etag, so that a late copy never overwrites the copy of a newer object.
    """
    return f"{prefix}{COPIES}/{key[len(prefix) :]}/{etag}.parquet"


def copy_path(key: str, etag: str, prefix: str) -> str:
    """Return the path of a copy in the table's log: relative to the table, percent-encoded as UTF-8."""
    return log_path(copy_key(key, etag, prefix), prefix)
