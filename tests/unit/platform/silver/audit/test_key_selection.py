"""Which keys a comparison can afford."""

from __future__ import annotations

from tidegate.platform.core.silver.audit.file_sample import FileSample
from tidegate.platform.silver.audit.key_selection import MAX_KEYS, Limits, highest_hash, select_affordable_keys

_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1


def test_keys_with_too_many_rows_are_left_out_and_counted() -> None:
    limits = Limits(rows=10, rows_of_a_key=6)
    assert select_affordable_keys([(1, 2), (2, 7), (3, 6), (4, 3), (5, 2)], limits) == ([1, 3, 5], 2)
    many = [(key, 1) for key in range(MAX_KEYS + 5)]
    assert select_affordable_keys(many, Limits(rows=1 << 20, rows_of_a_key=1)) == (list(range(MAX_KEYS)), 0)


def test_all_keys_of_a_small_table_are_ranked_and_a_part_of_a_large_one() -> None:
    def sample(rows: int, table_rows: int | None = None) -> FileSample:
        return FileSample(("f",), 1, rows, rows if table_rows is None else table_rows, is_whole=True)

    assert highest_hash(sample(0), sample(0)) == _HIGHEST
    assert highest_hash(sample(9_000_000), sample(20_000)) == _HIGHEST, "few keys with many rows"
    half = highest_hash(sample(40_000), sample(40_000))
    assert abs(half) < 1 << 40
    # The newest file of silver has few rows, and bronze may have a row of every other key.
    part = highest_hash(sample(10_000_000), sample(100, 1 << 40))
    assert (part - _LOWEST) / (1 << 64) == 0.002
