"""Folders of keys that name columns which no table can have: such a file is refused, and has no say in the columns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.bronze.prepare.table_columns import path_columns, unborn_schema
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, PlannedHint
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import taken_names
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.misfit import Misfit
from tidegate.platform.core.schema.names import SOURCE_COLUMNS
from tidegate.platform.core.schema.partitions import check_partition

_HISTORY = {"keys": ["id"], "order": "at", "every": 60, "stored_as": "scd2"}
#: Of each layer, options that reserve names, and the names.
_LAYERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"mode": "load"}, [*SOURCE_COLUMNS, "_metadata", "_tidegate_x", "_TIDEGATE_", "_Batch", "x" * 1_001]),
    ({"mode": "register"}, ["_metadata", "_tidegate_x"]),
    ({"format": "json", "schema": "variant"}, ["data", "DATA"]),
    ({"format": "json", "schema": "rescue"}, ["_rescued_data"]),
    ({"mode": "load", "silver": _HISTORY}, sorted(taken_names(SilverSpec.model_validate(_HISTORY)))),
]
_CASES = [pytest.param(options, name, id=f"{options} {name[:20]}") for options, names in _LAYERS for name in names]


def _table(options: dict[str, Any]) -> Any:
    spec = TableSpec.model_validate({"name": "t", "prefix": "s3://bucket/t/", **options})
    return SimpleNamespace(spec=spec, key=SimpleNamespace(prefix="t/", uri="s3://bucket/t/"))


def _candidate(folders: str) -> Candidate:
    key = f"t/{folders}1.json"
    return Candidate(key, S3Found("e", 1, 1), PlannedHint(Hint(key), "m"))


@pytest.mark.parametrize(("options", "name"), _CASES)
def test_a_folder_of_a_reserved_name_gives_no_column_and_its_file_is_refused(
    options: dict[str, Any], name: str
) -> None:
    table = _table(options)
    ours = () if table.spec.registers else SOURCE_COLUMNS
    hostile, usual = _candidate(f"{name}=1/"), _candidate("day=1/")
    schema = unborn_schema(table, [hostile, usual], ours)
    assert schema.partitions == ("day",)
    with pytest.raises(Misfit, match="a folder of its key gives a column"):
        path_columns(table, hostile, schema, ours)
    assert check_partition(path_columns(table, usual, schema, ours), schema.partition_fields) == {"day": "1"}
    if options.get("schema") is None:
        with pytest.raises(ValueError, match="`partition_columns`"):
            _table({**options, "partition_columns": {name: "string"}})
