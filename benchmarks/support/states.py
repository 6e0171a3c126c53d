"""Parquet files of states: a key, an order, and a text that both make."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq


def states(ids: Sequence[int], at: int) -> bytes:
    """Return a file with the state of each key at a time."""
    body = io.BytesIO()
    columns = {
        "id": pa.array(ids, pa.int64()),
        "at": pa.array([at] * len(ids), pa.int64()),
        "state": pa.array([f"state {at} of {number:012d}" for number in ids]),
    }
    pq.write_table(pa.table(columns), body)
    return body.getvalue()
