"""What the parts of `lake.yaml` must not do to each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tidegate.platform.core.lake_yaml import Problem
from tidegate.platform.core.queue_spec import QueueSpec
from tidegate.platform.core.row_objects import rows_prefix
from tidegate.platform.core.table_key import TableKey


@dataclass(frozen=True)
class RowQueuePlace:
    """What a table with a row queue says of itself, as far as it is valid.

    Attributes:
        name: the table's.
        queue: the queue.
        prefix: what is given as such.
    """

    name: str | None
    queue: QueueSpec | None
    prefix: str | None


def row_queue_problems(
    root: str | None, queues: Collection[str], tables: Mapping[int, RowQueuePlace]
) -> Iterator[Problem]:
    """What does not fit together of row queues.

    Args:
        root: the lake root, None when it is invalid.
        queues: names of the queues of events and of their dead-letter queues.
        tables: the tables with a row queue by their index.
    """
    before: dict[str, int] = {}
    for index, table in tables.items():
        if table.prefix and root and table.name and table.prefix != rows_prefix(root, table.name):
            message = "the rows of a row queue are kept below the lake root, not at a prefix; remove one of the two"
            yield Problem(("tables", index, "prefix"), message, beside=("tables", index, "row_queue"))
        if table.queue is None:
            continue
        place = ("tables", index, "row_queue")
        if table.queue.known_as.endswith(".fifo"):
            yield Problem(place, "a row queue is a standard queue: a FIFO queue gives its dead letters another time")
        for name in table.queue.names:
            if name in queues:
                yield Problem(place, f"the queue {name!r} is also in `queues`: events and rows need one each")
            elif name in before:
                other = before[name]
                message = f"{name!r} is also of the row queue of tables[{other}]; each table needs its own"
                yield Problem(place, message, beside=("tables", other, "row_queue"))
            before.setdefault(name, index)


def cross_problems(
    lake_bucket: str | None,
    buckets: tuple[str, ...] | None,
    tables: Mapping[int, tuple[str | None, str | None]],
) -> Iterator[Problem]:
    """What does not fit together, as far as the parts are known.

    Args:
        lake_bucket: Bucket of the lake root, None when it is invalid.
        buckets: The source buckets, None when they are invalid.
        tables: Name and prefix of the tables by their index, None for an invalid one.
    """
    if lake_bucket and buckets and lake_bucket in buckets:
        yield Problem(
            ("lake", "root"),
            f"the bucket {lake_bucket!r} is also a source bucket, so Tidegate's own files would notify it "
            f"about themselves; put the lake in a bucket of its own (say s3://{lake_bucket}-lake/), or take "
            f"{lake_bucket!r} off `buckets`",
        )
    for index, (name, prefix) in tables.items():
        bucket = TableKey.from_uri(prefix).bucket if prefix else None
        if bucket and buckets and bucket not in buckets:
            yield Problem(("tables", index, "prefix"), f"the bucket {bucket!r} is not in `buckets`; add it there")
        for other in range(index):
            other_name, other_prefix = tables.get(other, (None, None))
            if name and name == other_name:
                message = f"{name!r} is also the name of tables[{other}]; names are unique"
                yield Problem(("tables", index, "name"), message, beside=("tables", other, "name"))
            if prefix and other_prefix and (prefix.startswith(other_prefix) or other_prefix.startswith(prefix)):
                message = f"{prefix} overlaps {other_prefix} of tables[{other}]; table prefixes never overlap"
                yield Problem(("tables", index, "prefix"), message, beside=("tables", other, "prefix"))


def folder_problems(
    lake_root: str | None, prefixes: Mapping[int, str | None], folders: Mapping[int, str | None]
) -> Iterator[Problem]:
    """What does not fit together of the folders that files are moved to after they were loaded.

    Args:
        lake_root: `s3://` address of the lake root, None when it is invalid.
        prefixes: Prefix of the tables by their index, None for an invalid one.
        folders: What they move to, None where they do not.
    """
    for index, folder in folders.items():
        where = ("tables", index, "after_load", "move")
        if not folder:
            continue
        if lake_root and _overlap(folder, f"{lake_root.rstrip('/')}/"):
            yield Problem(where, f"{folder} overlaps the lake root {lake_root}; move to a folder beside it")
        for other, prefix in prefixes.items():
            if prefix and _overlap(folder, prefix):
                yield Problem(
                    where,
                    f"{folder} overlaps {prefix} of tables[{other}], which would take the moved files for its own; "
                    "move to a folder beside it",
                    beside=("tables", other, "prefix"),
                )


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
