"""Rows of files as objects of an output, which is not a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Row

from tidegate.platform.lake.spark.procedures import Procedures


@dataclass(frozen=True)
class StagedObject:
    """An object that was written for an output.

    Attributes:
        folder: key of the folder that its rows belong to.
        path: `s3a://` path where it is now.
        size: bytes.
        rows: number of its rows.
    """

    folder: str
    path: str
    size: int
    rows: int


@dataclass(frozen=True)
class FooterRead:
    """What the footer of a Parquet file says.

    Attributes:
        rows: number of rows.
        problem: why it cannot be read. None if it can.
    """

    rows: int
    problem: str | None


@dataclass(frozen=True)
class Packing:
    """How objects are written.

    Attributes:
        compression: `gzip` or `zstd`.
        full_bytes: compressed bytes at which an object is full.
        max_objects: more objects are refused as a fault of the files.
    """

    compression: str
    full_bytes: int
    max_objects: int


class OutputWriter:
    """The procedures that write objects of outputs."""

    def __init__(self, procedures: Procedures) -> None:
        self._procedures = procedures

    def write(
        self, files: Mapping[str, Any], staging: str, bad_rows_folder: str, packing: Packing
    ) -> tuple[list[StagedObject], dict[str, dict[str, Any]]]:
        """Read files of JSON lines once and write their good rows as objects, each with the rows of one folder.

        Args:
            files: the files, how to read them, and how folders are named (`LoadRequest` of platform/jvm).
            staging: `s3a://` URI of a new folder for the objects.
            bad_rows_folder: `s3a://` URI of a new folder for the rows that are bad; without such rows it is not made.
            packing: how objects are written.

        Returns:
            The objects in an order that depends on them only, and the counts of each source file that has rows, by its
            address.
        """
        rows = self._procedures.call(
            "write_objects",
            files=json.dumps(files),
            staging=staging,
            compression=packing.compression,
            full_bytes=packing.full_bytes,
            max_objects=packing.max_objects,
            bad_rows_folder=bad_rows_folder,
        )
        counts = {row["source"]: json.loads(row["counted"]) for row in rows if row["source"] is not None}
        return _parse_staged(rows), counts

    def concatenate(
        self, files: Sequence[Mapping[str, Any]], staging: str, full_bytes: int
    ) -> tuple[list[StagedObject], dict[str, FooterRead]]:
        """Write Parquet files as fewer, larger ones. Files of one folder and one schema become one file.

        Args:
            files: path, size and folder of each file (`ParquetConcatenation.Source` of platform/jvm).
            staging: `s3a://` URI of a new folder for the files.
            full_bytes: bytes of files that become one file.

        Returns:
            The files that were written, in an order that depends on them only, and what each footer says, by path.
        """
        rows = self._procedures.call(
            "concatenate_files", files=json.dumps({"files": files}), staging=staging, full_bytes=full_bytes
        )
        footers = {row["source"]: FooterRead(row["rows"], row["problem"]) for row in rows if row["source"] is not None}
        return _parse_staged(rows), footers


def _parse_staged(rows: Iterable[Row]) -> list[StagedObject]:
    staged = [
        StagedObject(row["folder"], row["path"], row["size"], row["rows"]) for row in rows if row["path"] is not None
    ]
    return sorted(staged, key=lambda staged_object: (staged_object.folder, staged_object.path))
