"""Which files are copied: those whose copy has a key that S3 takes, as long as there is time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.bronze.prepare import parquet_candidates
from tidegate.platform.bronze.prepare.parquet_candidates import copy_files
from tidegate.platform.bronze.prepare.table_columns import path_columns, unborn_schema
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, Dataset, Plan, PlannedHint
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import taken_names
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.keys.log_paths import copy_key
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.names import SOURCE_COLUMNS
from tidegate.platform.core.schema.partitions import check_partition
from tidegate.platform.lake.aws.s3 import ObjectRefused
from tidegate.platform.lake.parquet.copies import ParquetCopy

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


def candidate(key: str) -> Candidate:
    return Candidate(key, S3Found("e" * 32, 9, 0), PlannedHint(Hint(key), "m"))


def test_a_copy_with_too_long_a_key_is_the_file_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    long, refused, good = candidate("t/" + "k" * 1000), candidate("t/refused"), candidate("t/good")
    asked: list[str] = []

    def copy(_: Any, source: Any, target: S3Address, __: Any) -> ParquetCopy:
        asked.append(source.address.key)
        if source.address.key == refused.key:
            raise ObjectRefused(f"{target} cannot be written: 400")
        return ParquetCopy(1, 1, footer)

    monkeypatch.setattr(parquet_candidates, "copy_parquet", copy)
    footer: Any = SimpleNamespace(copied="nanoseconds", renames={})
    source = SimpleNamespace(version=lambda key, etag: SimpleNamespace(address=S3Address("b", key)))
    table: Any = SimpleNamespace(source=SimpleNamespace(version=source.version, objects=None))
    prepared = PreparedBatch(Plan([long, refused, good]))
    ready = copy_files(
        table.source,
        [(item, footer) for item in (long, refused, good)],
        lambda item: S3Address("b", copy_key(item.key, item.found.etag, "t/")),
        prepared,
    )
    assert [item.key for item, *_ in ready] == [good.key]
    assert sorted(asked) == [good.key, refused.key], "several threads copy"
    assert [(row.key, row.status) for row in prepared.rows] == [(long.key, "quarantined"), (refused.key, "quarantined")]
    assert "would have a key of 1,060 bytes, and S3 takes 1,024" in (prepared.rows[0].reason or "")
    assert prepared.deferred == []


def test_a_batch_begins_copies_for_ten_minutes_and_the_rest_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch has some, so the table is read to its end. A dataset enters with one batch, so it has no other."""
    clock = SimpleNamespace(now=0.0)

    def copy(*_: Any) -> ParquetCopy:
        clock.now += 400.0
        return ParquetCopy(1, 1, footer)

    monkeypatch.setattr(parquet_candidates, "copy_parquet", copy)
    monkeypatch.setattr(parquet_candidates, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(parquet_candidates, "os", SimpleNamespace(cpu_count=lambda: 1))
    footer: Any = SimpleNamespace(copied="nanoseconds", renames={})
    plain: Any = SimpleNamespace(copied=None)
    table: Any = SimpleNamespace(source=SimpleNamespace(version=lambda *_: None, objects=None))
    files = [candidate(f"t/{n}") for n in range(5)]
    part = candidate("t/part")
    dataset = Dataset(candidate("t/_SUCCESS").taken, (), part.found, frozenset({part.key}), 1)
    prepared = PreparedBatch(Plan([*files, part], datasets=[dataset]))
    given = [*((file, footer) for file in files[:4]), (files[4], plain), (part, footer)]
    ready = copy_files(table.source, given, lambda item: S3Address("b", item.key), prepared)
    assert [item.key for item, *_ in ready] == ["t/0", "t/1", "t/4"]
    assert [hint.key for hint in prepared.deferred] == ["t/2", "t/3"]
    assert [(row.key, row.status) for row in prepared.rows] == [(part.key, "quarantined")]
    assert "longer than 10 minutes" in (prepared.rows[0].reason or "")


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
    schema = unborn_schema(table.spec, table.key, [hostile, usual], ours)
    assert schema.partitions == ("day",)
    with pytest.raises(Misfit, match="a folder of its key gives a column"):
        path_columns(table.spec, table.key, hostile, schema, ours)
    assert check_partition(path_columns(table.spec, table.key, usual, schema, ours), schema.partition_fields) == {
        "day": "1"
    }
    if options.get("schema") is None:
        with pytest.raises(ValueError, match="`partition_columns`"):
            _table({**options, "partition_columns": {name: "string"}})
