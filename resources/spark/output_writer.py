"""Rows of files as objects of an output, which is no table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.resources.spark.procedures import Procedures


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
    """The procedure that writes objects of outputs."""

    def __init__(self, procedures: Procedures) -> None:
        self._procedures = procedures

    def write(
        self, files: Mapping[str, Any], staging: str, apart: str, packing: Packing
    ) -> tuple[list[StagedObject], dict[str, dict[str, Any]]]:
        """Read files of JSON lines once and write their good rows as objects, each with the rows of one folder.

        Args:
            files: the files, how to read them, and how folders are named (`LoadRequest` of platform/jvm).
            staging: `s3a://` URI of a new folder for the objects.
            apart: `s3a://` URI of a new folder for the rows that are bad; without such rows it is not made.
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
            most=packing.max_objects,
            apart=apart,
        )
        staged = [
            StagedObject(row["folder"], row["path"], row["size"], row["rows"])
            for row in rows
            if row["path"] is not None
        ]
        counts = {row["source"]: json.loads(row["counted"]) for row in rows if row["source"] is not None}
        return sorted(staged, key=lambda one: (one.folder, one.path)), counts
