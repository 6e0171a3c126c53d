"""What the parts of `lake.yaml` must not do to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidegate.platform.core.lake_yaml import Problem
from tidegate.platform.core.table_key import TableKey


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
