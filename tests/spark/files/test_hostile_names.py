"""Names that a producer chooses go through every table as they are, or are refused by name where they enter."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.support.hostile_names import NAMES, ODDER_NAMES
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.session import apply_settings, isolated_session
from tidegate.platform.lake.spark.value_settings import VALUE_SETTINGS
from tidegate.platform.silver.audit.comparison import compare
from tidegate.platform.silver.audit.key_history import key_history
from tidegate.platform.silver.export import export_changes
from tidegate.platform.silver.merge import merge_table
from tidegate.platform.testing import TestLake

#: Refused where they enter: Tidegate's, Spark's and the export's, in any spelling that Spark takes for theirs.
REFUSED = ["_tidegate_x", "_ſource_path", "_İngested_at", "_METADATA", "_Deleted", "_key", "_change_type", "μg", "A`B"]


def test_hostile_names_go_through_every_table(tidegate_lake: Callable[..., TestLake], kit: Any) -> None:
    silver = {"keys": ["id"], "order": "at", "every": 60, "export": {"folder": "exports/t/"}}
    lake = tidegate_lake([{"name": "t", "prefix": "t/", "silver": silver}])
    session = lake.lake.delta.session

    def rows(location: str, condition: str = "true") -> list[dict[str, Any]]:
        found = session.sql(f"SELECT * FROM {delta_table(location)} WHERE {condition} ORDER BY id, at").collect()
        return [row.asDict(recursive=True) for row in found]

    def given(key: int, at: int) -> dict[str, Any]:
        values = {name: f"{at} {place}" for place, name in enumerate((*NAMES, *ODDER_NAMES))}
        return {"id": key, "at": at, **values, "p": values}

    lake.put("t/1.json", kit.lines(given(1, 1), given(2, 1)))
    kit.run(lake, "t")
    assert kit.fate(lake, "t")["1.json"] == ("committed", "")
    kit.merge(lake, "t")
    bad = [{"id": 3, "at": 1, name: "x"} for name in REFUSED]
    lake.put("t/2.json", kit.lines(given(1, 2), *bad))
    kit.run(lake, "t")
    reason = kit.fate(lake, "t")["2.json"][1]
    assert reason.startswith(f"{len(REFUSED)} of its {len(REFUSED) + 1} rows do not fit"), reason
    history = kit.second(
        lake, "t", "h", {key: silver[key] for key in ("keys", "order", "every")} | {"stored_as": "scd2"}
    )
    kit.merge(lake, "t")
    merge_table(lake.lake, history)
    as_text = {"folder": f"s3://{lake.output_bucket}/text/", "format": "csv"}
    text = kit.second(lake, "t", "c", {key: silver[key] for key in ("keys", "order", "every")} | {"export": as_text})
    merge_table(lake.lake, text)
    for spec in (lake.spec("t"), text):
        assert export_changes(lake.lake, spec).manifests > 0
    compared = compare(lake.lake, lake.spec("t"))
    assert compared is not None
    assert compared.wrong == ()
    assert key_history(lake.lake, lake.spec("t"), ("id=2",)).is_right

    def same(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
        return {name: found[name] for name in wanted} == wanted

    expected = [given(1, 1), given(1, 2), given(2, 1)]
    for location, wanted in (
        (kit.location(lake, "t"), expected),
        (lake.lake.store.uri("silver", "t"), expected[1:]),
        (lake.lake.store.uri("silver", "h"), expected),
    ):
        found = rows(location)
        assert len(found) == len(wanted)
        for row, entry in zip(found, wanted, strict=True):
            assert same(row, entry), location
    listed = lake.clients.s3.list_objects_v2(Bucket=lake.output_bucket)["Contents"]
    keys = [item["Key"] for item in listed if "/part-" in item["Key"]]
    parts = [f"s3a://{lake.output_bucket}/{key}" for key in keys if not key.startswith("text/")]
    exported = [row.asDict(recursive=True) for row in session.read.parquet(*parts).where("id = 2").collect()]
    assert exported
    assert all(same(row, given(2, 1)) for row in exported)
    lines: list[dict[str, Any]] = []
    for key in keys:
        if key.startswith("text/"):
            body = lake.clients.s3.get_object(Bucket=lake.output_bucket, Key=key)["Body"].read().decode()
            lines += csv.DictReader(io.StringIO(body, newline=""))
    (line,) = [line for line in lines if line["id"] == "2"]
    assert same(line, {name: str(value) for name, value in given(2, 1).items() if name != "p"})
    assert json.loads(line["p"]) == given(2, 1)["p"]


def test_a_session_has_the_settings_of_values_on_every_server(tidegate_lake: Callable[..., TestLake]) -> None:
    remote = tidegate_lake([{"name": "t", "prefix": "t/"}]).stack.spark.remote
    other = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.variable.substitute": "true",
        "spark.sql.parser.quotedRegexColumnNames": "true",
    }
    with isolated_session(remote) as session:
        apply_settings(session, other)
        assert session.sql("SELECT 1 AS `${env:HOME}`").columns != ["${env:HOME}"]
        delta = Delta(remote, lambda: session)
        assert delta.session.sql("SELECT 1 AS `${env:HOME}`").columns == ["${env:HOME}"]
        assert {name: session.conf.get(name) for name in VALUE_SETTINGS} == VALUE_SETTINGS
        with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
            session.sql("SELECT CAST('abc' AS int)").collect()
        assert (
            session.sql("SELECT CAST(timestamp '2026-07-01 00:30:00' AS string)").collect()[0][0].endswith(" 00:30:00")
        )
