"""The readers matrix against the readers themselves: a table of each feature, read by every engine that runs here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tests.support.foreign.others import by_delta_rs, by_duckdb
from tidegate.platform.core.catalog.readers import Reader, readers_of

#: Rows of a table that needs no more than one statement.
TWO = ("INSERT INTO {t} VALUES (1), (2)",)
#: By feature: the columns of a table, its properties, and statements that follow.
TABLES: dict[str, tuple[str, dict[str, str], tuple[str, ...]]] = {
    "": ("id INT", {}, TWO),
    "columnMapping": ("id INT", {"delta.columnMapping.mode": "name"}, TWO),
    "deletionVectors": (
        "id INT",
        {"delta.enableDeletionVectors": "true"},
        ("INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES (1), (2), (3)", "DELETE FROM {t} WHERE id = 3"),
    ),
    "timestampNtz": ("id INT, at TIMESTAMP_NTZ", {}, ("INSERT INTO {t} VALUES (1, NULL), (2, NULL)",)),
    "typeWidening": (
        "id SMALLINT",
        {"delta.enableTypeWidening": "true"},
        ("INSERT INTO {t} VALUES (1)", "ALTER TABLE {t} ALTER COLUMN id TYPE INT", "INSERT INTO {t} VALUES (2)"),
    ),
    "variantType": (
        "id INT, data VARIANT",
        {},
        ("INSERT INTO {t} SELECT id, parse_json('1') FROM VALUES (1), (2) v(id)",),
    ),
    "v2Checkpoint": ("id INT", {"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "1"}, TWO),
    "clustering": ("id INT", {}, ("ALTER TABLE {t} CLUSTER BY (id)", *TWO, "OPTIMIZE {t}")),
    "vacuumProtocolCheck": ("id INT", {"delta.feature.vacuumProtocolCheck": "supported"}, TWO),
}


def _by_polars(path: Path) -> list[dict[str, Any]]:
    return pl.scan_delta(str(path)).collect().to_dicts()


READ: dict[Reader, Callable[[Path], Sequence[dict[str, Any]]]] = {
    Reader.DELTA_RS: by_delta_rs,
    Reader.POLARS: _by_polars,
    # It reads a VARIANT, but Arrow, by which Python takes rows, has no such type.
    Reader.DUCKDB: partial(by_duckdb, columns="COLUMNS(*)::VARCHAR"),
}


def test_each_reader_reads_what_the_matrix_says_and_refuses_the_rest(
    tidegate_lake: Callable[..., Any], tmp_path: Path
) -> None:
    lake = tidegate_lake([]).lake
    found, said = {}, {}
    for feature, (columns, properties, statements) in TABLES.items():
        path = tmp_path / (feature or "plain")
        table = f"delta.`{path.as_uri()}`"
        given = {"delta.enableDeletionVectors": "false", **properties}
        shown = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
        lake.delta.session.sql(f"CREATE TABLE {table} ({columns}) USING delta TBLPROPERTIES ({shown})").collect()
        for statement in statements:
            lake.delta.session.sql(statement.format(t=table)).collect()
        state = lake.delta.table_state(path.as_uri())
        assert not feature or feature in state.features
        by = {readable.reader: readable for readable in readers_of(state.features, state.schema)}
        for reader, read in READ.items():
            said[feature, reader.name] = by[reader].reads
            try:
                found[feature, reader.name] = sorted(int(row["id"]) for row in read(path)) == [1, 2]
            except Exception:
                found[feature, reader.name] = False
    assert found == said
