"""Structured Streaming reads each row of bronze once, as docs/guides/streams.md says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.maintenance.compaction import compact
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_objects, redrive_objects
from tidegate.platform.testing import TestLake

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "streams.md"
_TABLE = {"name": "clicks", "prefix": "clicks/", "format": "json", "columns": {"id": "int"}}


def _stream(lake: TestLake, *changes: tuple[str, str]) -> None:
    """Run the query of the page. Each change replaces a text of it."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    session = 'SparkSession.builder.remote(os.environ["SPARK_REMOTE"]).getOrCreate()'
    for old, new in [(session, "session"), ("s3a://acme-jobs", f"s3a://{lake.lake_bucket}"), *changes]:
        assert old in block
        block = block.replace(old, new)
    exec(compile(block, str(PAGE), "exec"), {"session": lake.lake.delta.session})


def test_a_stream_gets_each_row_once_over_batches_compaction_and_new_columns(
    tidegate_lake: Callable[..., TestLake], kit: Any
) -> None:
    lake = tidegate_lake([_TABLE])
    small = ('"maxFilesPerTrigger", 1000', '"maxFilesPerTrigger", 1')
    widening = (".trigger(", '.option("mergeSchema", "true").trigger(')
    sink, columns = f"s3a://{lake.lake_bucket}/clicks/rows", "id, _source_path, _batch"

    def streamed() -> list[tuple[Any, ...]]:
        return sorted((tuple(row) for row in kit.query(lake, f"SELECT {columns} FROM {{t}}", t=sink)), key=repr)

    for batch in range(2):
        lake.put(f"clicks/{batch}.json", kit.lines({"id": batch}, {"id": batch}))
        kit.run(lake, "clicks")
    SqlNames(lake.lake).name_tables()
    _stream(lake, small)
    assert streamed() == kit.bronze(lake, "clicks", columns)
    compact(lake.lake.delta, kit.location(lake, "clicks"), "bronze.clicks", print)
    assert kit.state(lake, "clicks").files == 1
    lake.put("clicks/odd.json", kit.lines({"id": 20, "note": "new"}, {"id": "no number"}))
    kit.run(lake, "clicks")
    _stream(lake, small, widening)
    assert streamed() == kit.bronze(lake, "clicks", columns)
    assert len(streamed()) == 5

    # A redrive replaces the row of a file. The stream says so, and the page's query has what a skipped commit added.
    choice = Choice(key="clicks/odd.json")
    found = quarantined_objects(lake.lake, lake.key("clicks"), choice)
    redrive_objects(lake.lake, lake.key("clicks"), found, RedriveRequest("somebody", choice))
    lake.put("clicks/more.json", kit.lines({"id": 30}))
    (done,) = kit.run(lake, "clicks")
    assert len(done.batch.removes) == 1
    with pytest.raises(StreamingQueryException, match="IGNORE_CHANGES") as stopped:
        _stream(lake, widening)
    (version,) = set(re.findall(r"source table at version (\d+)", str(stopped.value)))
    (query,) = re.findall(r"^ +```sql\n(.*?)^ +```$", PAGE.read_text(), re.M | re.S)
    rows = lake.sql(query.replace("= 8", f"= {version}"))
    assert sorted(row["id"] for row in rows) == [20, 30]
    assert {row["_source_path"].rpartition("/")[2] for row in rows} == {"odd.json", "more.json"}
