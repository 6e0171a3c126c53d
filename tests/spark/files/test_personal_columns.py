"""No value of a personal column is in a log, a batch or a ledger, which are kept for years and never rewritten."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.core.schema.column_statistics import STATISTICS
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
PEOPLE = {
    "name": "people",
    "prefix": "people/",
    "format": "json",
    "silver": {"keys": ["id"], "order": "at", "every": 10},
    "personal": {"columns": ["name", "contact.mail", "nick"]},
}
#: Values of personal columns begin with these.
PERSONAL = ("VALUE-OF-NAME", "VALUE-OF-MAIL", "VALUE-OF-NICK")
PUPILS = {"name": "pupils", "prefix": "pupils/", "format": "parquet", "personal": {"columns": ["Name"]}}


def _texts(lake: TestLake) -> dict[str, str]:
    """Return the log of each table, its batches and its ledger as text, also what is within Parquet."""
    found = {}
    for bucket in (lake.bucket, lake.lake_bucket):
        for page in lake.clients.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            for item in page.get("Contents", []):
                key = item["Key"]
                if any(part in key for part in ("/_delta_log/", "/batches/", "/ledger/", "/inbox/", "/tables/")):
                    body = lake.clients.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
                    if key.endswith(".parquet"):
                        text = repr(pq.read_table(io.BytesIO(body)).to_pylist()) + repr(
                            pq.read_metadata(io.BytesIO(body))
                        )
                    else:
                        text = (gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body).decode("latin-1")
                    found[f"{bucket}/{key}"] = text
    return found


def _row(n: int, **more: str) -> dict[str, Any]:
    return {
        "id": n,
        "at": n,
        "name": f"VALUE-OF-NAME{n}",
        "city": f"CITY{n}",
        "contact": {"mail": f"VALUE-OF-MAIL{n}", "via": "x"},
        **more,
    }


def test_statistics_of_personal_columns_are_nowhere(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([PEOPLE, PUPILS])
    lake.put("people/1.json", kit.lines(_row(1), _row(2)))
    lake.put("pupils/1.parquet", kit.parquet([{"id": 1, "name": "VALUE-OF-NAME1", "town": "TOWN1"}]))
    for table in ("people", "pupils"):
        kit.run(lake, table)
    kit.merge(lake, "people")
    silver = lake.lake.store.uri("silver", "people")
    session = lake.lake.delta.session
    for location in (kit.location(lake, "people"), silver):  # each commit from here on has a checkpoint
        session.sql(f"ALTER TABLE delta.`{location}` SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")
    # A column joins that was not there at the birth, and names are spelled in another case.
    lake.put("people/2.json", kit.lines(_row(2, nick="VALUE-OF-NICK2", town="TOWN2"), _row(3)))
    lake.put("pupils/2.parquet", kit.parquet([{"id": 2, "NAME": "VALUE-OF-NAME2", "town": "TOWN2"}]))
    for table in ("people", "pupils"):
        kit.run(lake, table)
    kit.merge(lake, "people")
    lake.put("people/3.json", kit.lines(_row(4, nick="VALUE-OF-NICK4", town="TOWN4")))
    kit.run(lake, "people")
    kit.merge(lake, "people")
    for location in (kit.location(lake, "people"), silver):  # other writers keep the rule, which the table has
        session.sql(f"UPDATE delta.`{location}` SET name = 'VALUE-OF-NAME9' WHERE id = 1")
        lake.lake.delta.compact(location)
    texts = _texts(lake)
    assert any(key.endswith(".checkpoint.parquet") for key in texts)
    leaks = {key: word for key, text in texts.items() for word in PERSONAL if word in text}
    assert not leaks
    # The other columns have statistics as ever, in the table and in the batch, also the one that joined.
    for table, word in (("people", "CITY1"), ("pupils", "TOWN1"), ("people", "TOWN4")):
        assert any(table in key and "/batches/" in key and word in text for key, text in texts.items()), word
    assert any("silver/people/_delta_log" in key and "CITY1" in text for key, text in texts.items())


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_a_table_gets_the_property_with_the_next_file_after_its_columns_were_named(
    tidegate_lake: MakeLake, kit: Any, format: str
) -> None:
    table = {"name": "people", "prefix": "people/", "format": format}
    lake = tidegate_lake([table])
    content = kit.lines if format == "json" else lambda *rows: kit.parquet(rows)
    lake.put("people/1", content({"id": 1, "name": "OLD1"}))
    kit.run(lake, "people")
    assert STATISTICS not in kit.state(lake, "people").properties
    kit.configure(lake, personal={"columns": ["name"]})
    table_of_lake = lake.resource.open().table(lake.key("people"))
    for n in (2, 3):
        lake.put(f"people/{n}", content({"id": n, "name": f"NEW{n}"}))
        run_table(table_of_lake, RunOptions("test", listing=True))
        table_of_lake = table_of_lake.reopen()
    assert "`name`" not in kit.state(lake, "people").properties[STATISTICS]
    batches = [table_of_lake.batches.read(n) for n in (1, 2, 3)]
    assert [bool(batch and batch.evolve) for batch in batches] == [False, True, False]
    assert "OLD1" in json.dumps([add.stats for add in batches[0].adds])  # type: ignore[union-attr]
    assert not any("NEW" in text for text in _texts(lake).values())
    assert {row[0] for row in kit.bronze(lake, "people", "name")} == {"OLD1", "NEW2", "NEW3"}
