"""Which files of a table are read to check it: as many as the bounds allow, half of them the newest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TableFile:
    """A file of a table: its path, its bytes, and its rows."""

    path: str
    size: int
    rows: int


@dataclass(frozen=True)
class Bounds:
    """How many files are read at most, and how many bytes and rows they may have together."""

    files: int
    size: int
    rows: int


@dataclass(frozen=True)
class FileSample:
    """Files of a table.

    Attributes:
        paths: of the chosen files.
        size: bytes of the chosen files.
        rows: of the chosen files.
        table_rows: rows of all files of the table.
        is_whole: whether the chosen files are all files of the table.
    """

    paths: tuple[str, ...]
    size: int
    rows: int
    table_rows: int
    is_whole: bool


def file_sample(
    newest: Sequence[TableFile], mixed: Sequence[TableFile], files: int, table_rows: int, bounds: Bounds
) -> FileSample:
    """Choose files: the newest ones up to half of the bounds, and then files of any age up to the bounds.

    The newest file may take all of the bounds: in a table of few large files it is the only one with the last rows.

    Args:
        newest: the newest files, the newest first.
        mixed: files in an order that does not depend on their age.
        files: number of files of the table.
        table_rows: rows of all files of the table.
        bounds: of the chosen files.
    """
    half = Bounds(max(1, bounds.files // 2), bounds.size // 2, bounds.rows // 2)
    chosen: dict[str, TableFile] = {}
    for candidates, limit in ((newest, half), (mixed, bounds)):
        for file in candidates:
            if file.path not in chosen and _fits((*chosen.values(), file), limit if chosen else bounds):
                chosen[file.path] = file
    taken = chosen.values()
    return FileSample(
        tuple(chosen),
        sum(file.size for file in taken),
        sum(file.rows for file in taken),
        table_rows,
        len(chosen) == files,
    )


def _fits(files: Collection[TableFile], bounds: Bounds) -> bool:
    return (
        len(files) <= bounds.files
        and sum(file.size for file in files) <= bounds.size
        and sum(file.rows for file in files) <= bounds.rows
    )
