"""Which files of a table are read to check it: as many as a bound allows, half of them the newest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FileSample:
    """Files of a table.

    Attributes:
        paths: of the chosen files.
        size: bytes of the chosen files.
        is_whole: whether they are all files of the table.
    """

    paths: tuple[str, ...]
    size: int
    is_whole: bool


def file_sample(
    newest: Sequence[tuple[str, int]], mixed: Sequence[tuple[str, int]], files: int, max_files: int, max_bytes: int
) -> FileSample:
    """Choose files: the newest ones up to half of both bounds, and then files of any age up to the bounds.

    Args:
        newest: path and bytes of the newest files, the newest first.
        mixed: path and bytes of files in an order that does not depend on their age.
        files: number of files of the table.
        max_files: number of files to choose at most.
        max_bytes: bytes of the chosen files together at most.
    """
    chosen: dict[str, int] = {}
    for candidates, part in ((newest, 2), (mixed, 1)):
        for path, size in candidates:
            fits = sum(chosen.values()) + size <= max_bytes // part and len(chosen) < max(1, max_files // part)
            if path not in chosen and fits:
                chosen[path] = size
    return FileSample(tuple(chosen), sum(chosen.values()), len(chosen) == files)
