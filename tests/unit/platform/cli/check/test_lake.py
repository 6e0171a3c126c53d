"""A table as it was born: how, and whether its log is still there. An output has no log."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.conftest import PAPER
from tidegate.platform.cli.check.lake import check_born
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.table_schema import TableSchema

_COLUMNS = TableSchema((Field("id", parse_sql_type("bigint")),))


@pytest.mark.parametrize(
    ("mode", "began", "log", "ok", "detail"),
    [
        ("load", None, False, True, "loaded"),
        ("load", _COLUMNS, True, True, "loaded"),
        ("load", _COLUMNS, False, False, "or start the table over with `tidegate reset t`"),
        ("register", _COLUMNS, True, True, "registered"),
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
