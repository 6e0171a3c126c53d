"""A table as it was born: how, and whether its log is still there. An output has no log. The version of the server."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from pyspark.errors import PySparkException

from tests.unit.conftest import PAPER
from tidegate.platform.cli.check import lake
from tidegate.platform.cli.check.findings import Failed
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.check.lake import (
    _require_procedures,
    check_born,
    check_foreign,
    folders_above,
)
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.object_state import S3Found, S3Gone
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.remote import SparkRemote

_COLUMNS = TableSchema((Field("id", parse_sql_type("bigint")),))

_REMOTE = SparkRemote.parse("sc://127.0.0.1:1", None)

OURS, FIRST = "11111111-2222-3333-4444-555555555555", f"t/_delta_log/{0:020d}.json"


@pytest.mark.parametrize(
    ("mode", "began", "log", "ok", "detail"),
    [
        ("load", None, False, True, "loaded"),
        ("load", _COLUMNS, True, True, "loaded"),
        ("load", _COLUMNS, False, False, "or start the table over with `tidegate reset t`"),
        ("register", _COLUMNS, True, True, "registered"),
        ("register", None, False, True, "registered"),
        ("convert", _COLUMNS, False, True, "converted"),
        ("concatenate", None, False, True, "concatenated"),
        ("repartition", None, False, True, "repartitioned"),
    ],
)
def test_a_table_needs_its_log_and_an_output_has_none(
    mode: str, began: TableSchema | None, log: bool, ok: bool, detail: str
) -> None:
    output: Any = None if mode in ("load", "register") else mode
    table: dict[str, Any] = {"name": "t", "prefix": "s3://landing/t/", "format": "json", "mode": mode}
    if output:
        table["output"] = {"folder": "s3://out/t/"}
    if mode in ("register", "concatenate"):
        table["format"] = "parquet"
    config = LakeConfig.model_validate({**PAPER, "tables": [table]})
    birth = Birth("g", "s3a://lake/root/outputs/landing.t", "t", mode == "register", output=output)
    store: Any = SimpleNamespace(
        births=SimpleNamespace(read=lambda _: birth),
        batches=lambda _: SimpleNamespace(birth=lambda: began),
        objects=SimpleNamespace(is_empty=lambda bucket, prefix: not log),
    )
    finding = check_born(store, config.tables[0])
    assert (finding.ok, detail in finding.detail) == (ok, True), finding.detail


def commit(**configuration: str) -> bytes:
    lines: list[dict[str, Any]] = [{"commitInfo": {}}, {"metaData": {"configuration": configuration}}]
    return "\n".join(json.dumps(line) for line in lines).encode()


def store(objects: dict[str, bytes], *, registered: bool | Literal["adopted"] | None = None) -> Any:
    """Return a lake of one table, `t/`, born registered, loaded, adopted or not at all."""
    adopted = registered == "adopted"
    birth = None if registered is None else Birth("g", "s3a://landing/t", "t", bool(registered), adopted=adopted)
    return SimpleNamespace(
        identity=SimpleNamespace(read_uuid=lambda: OURS),
        births=SimpleNamespace(read=lambda text: birth),
        objects=SimpleNamespace(
            list_under=lambda bucket, prefix: (
                SimpleNamespace(key=key) for key in sorted(objects) if key.startswith(prefix)
            ),
            head_with_body=lambda bucket, key, most: (
                (S3Found("e", len(objects[key]), 0.0), objects[key] if len(objects[key]) <= most else None)
                if key in objects
                else (S3Gone(), None)
            ),
        ),
    )


@pytest.mark.parametrize(
    ("objects", "registered", "ok"),
    [
        ({}, None, True),
        # What a check without the permission to delete has left.
        ({"t/_delta_log/_tidegate-check-1": b""}, None, True),
        ({"t/_delta_log/_tidegate-check-1": b"", "t/_delta_log/_last_checkpoint": b""}, None, False),
        ({"t/_delta_log/_tidegate-check-1": b"", FIRST: commit()}, None, False),
        ({FIRST: commit(**{"tidegate.lake": OURS})}, True, True),
        ({FIRST: commit(**{"tidegate.lake": "another"})}, True, False),
        ({FIRST: commit()}, None, False),
        ({FIRST: b"no JSON"}, None, False),
        ({FIRST: b"[" * 5_000}, None, False),
        ({FIRST: b"[" * 5_000 + b"\n" + commit(**{"tidegate.lake": OURS})}, True, True),
        # Its first commits were cleaned up.
        ({f"t/_delta_log/{7:020d}.json": commit()}, True, True),
        ({f"t/_delta_log/{7:020d}.json": commit()}, False, False),
        ({f"t/_delta_log/{7:020d}.json": commit()}, None, False),
        # It was adopted.
        ({FIRST: commit()}, "adopted", True),
        ({f"t/_delta_log/{7:020d}.json": commit()}, "adopted", True),
    ],
)
def test_a_log_that_is_not_this_lake_s_is_reported(
    objects: dict[str, bytes], registered: bool | Literal["adopted"] | None, ok: bool
) -> None:
    found = check_foreign(store(objects, registered=registered), "landing", ["s/", "t/"])
    assert found.ok is ok
    assert ok or found.detail.startswith("s3://landing/t/ contains a Delta table of another owner")


def test_every_folder_of_a_key_is_looked_at() -> None:
    assert folders_above("a/b/day=1/x.parquet") == ["a/", "a/b/", "a/b/day=1/"]
    assert folders_above("x.parquet") == []


@pytest.mark.parametrize(
    ("condition", "text", "missing"),
    [
        ("UNRESOLVED_ROUTINE", "Cannot resolve routine `tidegate`.`system`.`table_state`", True),
        ("FAILED_TO_LOAD_ROUTINE", "Failed to load routine `tidegate`.`system`.`table_state`", True),
        ("MISSING_CATALOG_ABILITY.PROCEDURES", "Catalog tidegate does not support procedures.", True),
        (None, "Cannot find catalog plugin class for catalog 'tidegate': io.tidegate.spark.TidegateCatalog.", True),
        (None, "(java.nio.file.AccessDeniedException) No AWS Credentials provided", False),
        (None, "(org.apache.hadoop.fs.s3a.UnknownStoreException) The specified bucket does not exist", False),
        ("DELTA_TABLE_NOT_FOUND", "Delta table doesn't exist.", False),
    ],
)
def test_only_a_procedure_that_is_missing_is_blamed_on_the_jars(
    condition: str | None, text: str, missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The errors are those of a server of Spark 4.2."""
    error = PySparkException(text)
    monkeypatch.setattr(error, "getCondition", lambda: condition)
    if not missing:
        assert _require_procedures(error) == "tidegate.system exists"
        return
    with pytest.raises(Failed, match="start the server with Tidegate's jars"):
        _require_procedures(error)


@pytest.mark.parametrize("version", ["4.0.2", "4.0.2-amzn-0", "4.3.0", "3.5.6", "five"])
def test_another_spark_is_refused_with_the_versions_that_there_are_jars_for(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    store: Any = None
    monkeypatch.setattr(lake, "probe", lambda _: version)
    (found,) = lake.check_spark(_REMOTE, store)
    assert (found.check, found.ok) == (Check.SPARK_ANSWERS, False)
    assert f"version {version}: Tidegate's jars are built for Spark 4.1 and 4.2" in found.detail


@pytest.mark.parametrize("version", ["4.1.1", "4.1.1-amzn-0", "4.2.0"])
def test_each_spark_that_there_are_jars_for_is_asked_for_more(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    store: Any = None
    monkeypatch.setattr(lake, "probe", lambda _: version)
    monkeypatch.setattr(lake, "_table_state_error", lambda *_: None)
    monkeypatch.setattr(lake, "_check_commits", lambda _, commits: f"commits: {commits}")
    found = list(lake.check_spark(_REMOTE, store, commits="s3"))
    assert (found[0].detail, found[-1].detail) == (f"version {version}", "commits: s3")
    expected = [Check.SPARK_ANSWERS, Check.SPARK_PROCEDURES, Check.SPARK_ROOT, Check.SPARK_COMMITS]
    assert [each.check for each in found] == expected
