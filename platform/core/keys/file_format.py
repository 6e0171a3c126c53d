"""File formats, and the endings of object names that show them."""

from __future__ import annotations

import re
from typing import Literal

Format = Literal["parquet", "csv", "json"]
Mode = Literal["register", "load"]

# Case matters for the codec alone: Spark reads x.csv.GZ as plain text.
_ENDING = re.compile(r"\.(?:(?i:(?P<parquet>parquet)|(?P<csv>csv)|(?P<json>json|jsonl|ndjson)))(?P<gz>\.gz)?")


def format_of(key: str) -> Format | None:
    """The file format that the ending of an object's name shows; None if the ending is unknown."""
    name = key.rsplit("/", 1)[-1]
    start = name.lower().rfind(".", 0, -3 if name.endswith(".gz") else len(name))
    found = _ENDING.fullmatch(name, start) if start >= 0 else None
    if not found or (found["parquet"] and found["gz"]):
        return None
    return "parquet" if found["parquet"] else "csv" if found["csv"] else "json"


def mode_of(format: Format) -> Mode:
    """How files of a format enter bronze by default."""
    return "register" if format == "parquet" else "load"
