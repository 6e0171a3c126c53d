"""Which files are read to check a table."""

from __future__ import annotations

from tidegate.platform.core.silver.audit.file_sample import Bounds, FileSample, TableFile, file_sample

FILES = [TableFile(f"f{age}", 10, 5) for age in range(10)]
MIXED = [FILES[place] for place in (9, 1, 5, 0, 3, 7, 2, 8, 4, 6)]


def test_a_small_table_is_read_whole() -> None:
    bounds = Bounds(64, 1_000, 1_000)
    assert file_sample(FILES, MIXED, 10, 50, bounds) == FileSample(
        ("f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9"), 100, 50, 50, is_whole=True
    )
    assert file_sample([], [], 0, 0, bounds) == FileSample((), 0, 0, 0, is_whole=True)


def test_half_of_the_files_are_the_newest_and_all_bounds_hold() -> None:
    chosen = FileSample(("f0", "f1", "f9", "f5"), 40, 20, 50, is_whole=False)
    for bounds in (Bounds(4, 1_000, 1_000), Bounds(64, 45, 1_000), Bounds(64, 1_000, 24)):
        assert file_sample(FILES, MIXED, 10, 50, bounds) == chosen
    assert len(file_sample(FILES, MIXED, 10, 50, Bounds(1, 1_000, 1_000)).paths) == 1


def test_the_newest_file_may_take_the_whole_bound_and_no_file_exceeds_it() -> None:
    large = [TableFile("big", 50, 9)]
    assert file_sample(large, large, 2, 99, Bounds(64, 50, 9)).paths == ("big",)
    for bounds in (Bounds(64, 49, 9), Bounds(64, 50, 8)):
        assert file_sample(large, large, 2, 99, bounds) == FileSample((), 0, 0, 99, is_whole=False)
