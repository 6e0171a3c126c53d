"""Which files are read to check a table."""

from __future__ import annotations

from tidegate.platform.core.silver.file_sample import FileSample, file_sample

FILES = [(f"f{age}", 10) for age in range(10)]
MIXED = [FILES[place] for place in (9, 1, 5, 0, 3, 7, 2, 8, 4, 6)]


def test_a_small_table_is_read_whole() -> None:
    assert file_sample(FILES, MIXED, 10, 64, 1_000) == FileSample(
        ("f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9"), 100, is_whole=True
    )
    assert file_sample([], [], 0, 64, 1_000) == FileSample((), 0, is_whole=True)


def test_half_of_the_files_are_the_newest_and_both_bounds_hold() -> None:
    assert file_sample(FILES, MIXED, 10, 4, 1_000) == FileSample(("f0", "f1", "f9", "f5"), 40, is_whole=False)
    assert file_sample(FILES, MIXED, 10, 64, 45) == FileSample(("f0", "f1", "f9", "f5"), 40, is_whole=False)
    assert len(file_sample(FILES, MIXED, 10, 1, 1_000).paths) == 1
    assert file_sample([("big", 99)], [("big", 99)], 1, 64, 50) == FileSample((), 0, is_whole=False)
