"""Copies of Parquet objects that Spark would misread. They are made in child processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tidegate.platform.core.errors import BadParquet
from tidegate.platform.core.files.parquet import parquet_copy
from tidegate.platform.core.files.parquet.footer import Footer, footer_bytes
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.deadline import seconds_left
from tidegate.platform.lake.parquet.footers import read_footers

#: Seconds that one copy may take.
_DEADLINE = 1800.0


@dataclass(frozen=True)
class ParquetCopy:
    """A copy in S3.

    Attributes:
        size: bytes.
        modification_time: epoch milliseconds.
        footer: the copy's own footer.
    """

    size: int
    modification_time: int
    footer: Footer


def copy_parquet(objects: ObjectStore, source: S3Object, target: S3Address, renames: Mapping[str, str]) -> ParquetCopy:
    """Write a copy of an object to another address.

    Args:
        source: the version to copy.
        target: address of the copy.
        renames: new names of columns in the copy, by their names in the object.

    Raises:
        BadParquet: no copy can be made. The message is the reason.
        ObjectChanged: the object has another etag, or is gone.
        StoreError: S3 did not answer, or refuses the copy.
        DeadlineExceeded: the time of the work is over.
    """
    with TemporaryDirectory(prefix="tidegate-copy-") as folder:
        copy = _write_copy(objects, source, Path(folder), renames)
        body_size = copy.stat().st_size
        with copy.open("rb") as file:
            file.seek(-min(8, body_size), 2)
            length = footer_bytes(file.read(), body_size)
            file.seek(-length, 2)
            (footer,) = read_footers([(file.read(), body_size)])
        if isinstance(footer, BadParquet) or footer.copied:
            raise BadParquet(f"its copy is no better: {footer.copied if isinstance(footer, Footer) else footer}")
        found = objects.upload(*target, copy)
    return ParquetCopy(body_size, found.modification_time, footer)


def _write_copy(objects: ObjectStore, source: S3Object, folder: Path, renames: Mapping[str, str]) -> Path:
    """Make the copy in a folder of this machine."""
    original, copy = folder / "original", folder / "copy"
    with objects.open_version(source) as body, original.open("wb") as file:
        while chunk := body.read(1 << 20):
            file.write(chunk)
    _convert(original, copy, renames)
    original.unlink()
    return copy


def _convert(original: Path, copy: Path, renames: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(
            [sys.executable, "-m", parquet_copy.__name__, str(original), str(copy), json.dumps(dict(renames))],
            capture_output=True,
            text=True,
            timeout=min(_DEADLINE, seconds_left()),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        seconds_left()
        raise BadParquet(f"no copy that Spark reads was made of it within {_DEADLINE:.0f} s") from error
    if done.returncode == parquet_copy.BAD:
        raise BadParquet(done.stdout.strip())
    if done.returncode:
        raise BadParquet(f"it crashes the Parquet reader (exit code {done.returncode})")
