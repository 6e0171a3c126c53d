"""Readers of Delta tables without Spark, on a copy of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import duckdb_extension_delta
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from tests.support.foreign.case import Row
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.local.provision import Clients

_EXTENSION = next(Path(duckdb_extension_delta.__path__[0]).rglob("*.duckdb_extension"))


def copied_down(clients: Clients, location: str, folder: Path) -> Path:
    """Copy a table of the local S3 into a folder."""
    bucket, prefix = S3Address.parse_s3a(location)
    for page in clients.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix.rstrip('/')}/"):
        for item in page.get("Contents", []):
            path = folder / item["Key"].removeprefix(prefix).lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(clients.s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read())
    return folder


def by_delta_rs(folder: Path) -> Sequence[Row]:
    """Return the rows as delta-rs reads them."""
    batches = QueryBuilder().register("found", DeltaTable(folder)).execute("SELECT * FROM found").read_all()
    return list(pa.table(batches).to_pylist())


def by_duckdb(folder: Path, columns: str = "*") -> Sequence[Row]:
    """Return the rows as DuckDB's Delta extension reads them."""
    with duckdb.connect() as db:
        db.load_extension(str(_EXTENSION))
        return list(db.sql(f"SELECT {columns} FROM delta_scan('{folder}')").to_arrow_table().to_pylist())
