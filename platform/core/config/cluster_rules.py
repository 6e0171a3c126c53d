"""Which tables can be clustered by columns of `lake.yaml`."""

from __future__ import annotations

from collections.abc import Collection


def clustering_problem(
    registers: bool | None, columns: Collection[str], partition_columns: Collection[str]
) -> str | None:
    """Return why a bronze table cannot be clustered, as the rest of a sentence. None if it can, or has no columns.

    Args:
        registers: whether its files are registered. None if the ending of the first file decides.
        columns: the columns of `cluster_by`.
        partition_columns: the folders that have a type.
    """
    if not columns:
        return None
    if registers is None:
        return "needs `mode: load`: without it, Parquet files would be registered, and they stay where they are"
    if registers:
        return (
            "is for loaded tables: a registered table reads the files of its producer where they are, and keeps their "
            "folders; use `mode: load`, or remove it. Silver can be clustered in any case, by `silver.cluster_by`"
        )
    if partition_columns:
        return (
            "and `partition_columns` exclude each other: Delta does not cluster a table that folders partition; remove "
            "one of them"
        )
    return None
