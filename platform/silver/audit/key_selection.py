"""The keys that a comparison takes: some of the last batch, and others by a hash, with a bounded number of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from tidegate.platform.core.config.silver_columns import CHANGED_BATCH
from tidegate.platform.core.silver.audit.file_sample import FileSample
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.session import select
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.silver.audit.key_rows import HASH, KeyRows, N

#: Keys that are compared, and those of the last batch among them.
MAX_KEYS = 1_000
_MAX_NEWEST = 500
#: About so many keys are ranked.
_RANKED = 20_000
_LOWEST = -(1 << 63)


@dataclass(frozen=True)
class SampledRows:
    """A temporary view of the rows of some files of a table, and the files."""

    view: str
    files: FileSample


@dataclass(frozen=True)
class Limits:
    """How many rows the chosen keys may have together, and one of them alone."""

    rows: int
    rows_of_a_key: int


@dataclass(frozen=True)
class ChosenKeys:
    """The keys of a comparison.

    Attributes:
        view: a temporary view with a hash for each key. Empty if there are no keys.
        keys: number of the keys.
        left_out: keys with more rows than the comparison may read.
    """

    view: str
    keys: int
    left_out: int


@contextmanager
def chosen_keys(
    delta: Delta, rows: KeyRows, mark: int, bronze: SampledRows, silver: SampledRows, limits: Limits
) -> Iterator[ChosenKeys]:
    """Yield the keys to compare: those that can be judged by the rows of the files that were read.

    They are other keys after each batch. The text of a query has no hash, because it may be that of a person.

    Args:
        mark: last batch that silver holds.
        limits: bounds of the rows that the keys have in these files of both tables.
    """
    session = delta.session
    ranked = select(session, _ranked_keys_query(rows, mark, bronze, silver)).collect()
    hashes, left_out = select_affordable_keys([(row["hash"], row["rows"]) for row in ranked], limits)
    if not hashes:
        yield ChosenKeys("", 0, left_out)
        return
    found = session.createDataFrame(pa.table({HASH: pa.array(hashes, pa.int64())}))
    with temporary_view(session, "chosen", found) as view:
        yield ChosenKeys(view, len(hashes), left_out)


def select_affordable_keys(ranked: Sequence[tuple[int, int]], limits: Limits) -> tuple[list[int], int]:
    """Return the hashes of the keys to compare, and how many keys have too many rows.

    Args:
        ranked: the hash of each key and the number of its rows, the first to compare first.
        limits: bounds of the rows.
    """
    hashes: list[int] = []
    left_out, left = 0, limits.rows
    for key, rows in ranked:
        if len(hashes) == MAX_KEYS:
            break
        if rows > min(left, limits.rows_of_a_key):
            left_out += 1
        else:
            hashes.append(key)
            left -= rows
    return hashes, left_out


def _ranked_keys_query(rows: KeyRows, mark: int, bronze: SampledRows, silver: SampledRows) -> str:
    """Return a query of keys that can be judged, with their rows: first those of the last batch, then by their hash.

    A key that only one of the tables has can be judged if the other one was read whole. Most keys are left out by their
    hash before anything is counted, so a large table costs little more than a scan of its keys.
    """
    key = rows.key_hash(mark)
    newest = f"SELECT {key} AS hash FROM {silver.view} WHERE {CHANGED_BATCH} = {mark} ORDER BY hash LIMIT {_MAX_NEWEST}"
    every = (
        f"SELECT {key} AS hash, 1 AS bronze FROM ({rows.sample_bronze(bronze.view)}) WHERE coalesce({N}, 0) <= {mark} "
        f"UNION ALL SELECT {key}, 0 FROM {silver.view}"
    )
    ranked = (
        f"SELECT e.hash, bronze, n.hash IS NOT NULL AS is_newest FROM ({every}) e "
        f"LEFT JOIN (SELECT DISTINCT hash FROM ({newest})) n ON e.hash = n.hash "
        f"WHERE n.hash IS NOT NULL OR e.hash <= {highest_hash(bronze.files, silver.files)}L"
    )
    in_bronze = "true" if bronze.files.is_whole else "sum(bronze) > 0"
    in_silver = "true" if silver.files.is_whole else "sum(bronze) < count(*)"
    return (
        f"SELECT hash, is_newest, count(*) AS rows FROM ({ranked}) GROUP BY hash, is_newest "
        f"HAVING {in_bronze} AND {in_silver} ORDER BY is_newest DESC, hash LIMIT {MAX_KEYS + _MAX_NEWEST}"
    )


def highest_hash(bronze: FileSample, silver: FileSample) -> int:
    """Return the highest hash of the keys that are ranked, by the files that were read of both tables."""
    # Silver has about a row for each key. Of bronze, or of a history, a key may have many rows.
    keys = max(silver.rows, min(bronze.rows, silver.table_rows))
    part = min(1.0, _RANKED / keys) if keys else 1.0
    return min(_LOWEST + 1 + int(part * (1 << 64)), (1 << 63) - 1)
