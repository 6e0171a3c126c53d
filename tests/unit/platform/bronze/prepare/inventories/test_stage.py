"""A delivery that Spark cannot read keeps no other delivery out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock, patch

import pytest
from pyspark.errors import AnalysisException, PySparkException

from tidegate.platform.bronze.prepare.inventories import stage as staging
from tidegate.platform.bronze.prepare.inventories.stage import SMALL_BYTES, Entry, group_alike
from tidegate.platform.core.inventory.delivery import Delivery, Subject, has_entered, superseded_reason
from tidegate.platform.core.inventory.manifest import Column, Inventory, InventoryFile

COLUMNS = {"key": "string", "size": "bigint"}


def entry(bucket: str, *left_out: Column) -> Entry:
    inventory = Inventory("s3://x/manifest.json", "x", bucket, 0.0, "orc", {"key": "string"}, (), left_out)
    return Entry(Delivery(Subject(bucket, "all"), "2026-11-01T01-00Z"), Mock(name=bucket), inventory, {})


def staged(condition: str) -> tuple[list[str], Mock]:
    """Stage seven deliveries, of which Spark refuses the fourth by this condition."""
    entries, prepared = [entry(bucket) for bucket in "abcdefg"], Mock()

    def written(_key: Any, _delta: Any, _work: Any, _prepared: Any, some: Sequence[Entry]) -> dict[Subject, list[Any]]:
        if entries[3] in some:
            raise AnalysisException(message="no such type", errorClass=condition)
        return {}

    source = Mock()
    source.head_many.return_value = {}
    with patch.object(staging, "_write_rows", written):
        found = staging.stage(Mock(), source, Mock(), Mock(), prepared, entries)
    prepared.quarantine.assert_called_once()
    assert prepared.quarantine.call_args.args[0] is entries[3].candidate
    return [item.delivery.subject.bucket for item, _ in found], prepared


@pytest.mark.parametrize(
    "condition", ["INCOMPLETE_TYPE_DEFINITION.MAP", "PARSE_SYNTAX_ERROR", "UNSUPPORTED_DATATYPE", "CAST_INVALID_INPUT"]
)
def test_a_type_that_spark_does_not_know_is_the_fault_of_its_delivery_alone(condition: str) -> None:
    buckets, prepared = staged(condition)
    assert buckets == list("abcefg")
    assert "no such type" in prepared.quarantine.call_args.args[1]


def test_an_error_that_no_delivery_causes_stops_the_run() -> None:
    with pytest.raises(PySparkException):
        staged("INTERNAL_ERROR")


def test_a_delivery_says_which_of_its_fields_the_table_does_not_get() -> None:
    assert entry("a").left_out is None
    assert entry("a", Column("tags", "map<string,string>", ""), Column("of", "group", "")).left_out == (
        "without the fields tags (map<string,string>), of (group): a column of text cannot have their types"
    )


def test_a_delivery_that_brought_rows_is_not_an_older_one_by_its_reason() -> None:
    assert has_entered(None)
    assert has_entered(entry("a", Column("tags", "map<string,string>", "")).left_out)
    assert not has_entered(superseded_reason("2026-11-04T01-00Z"))
    assert not has_entered("older than the inventory of 2026-11-04T01-00Z, which the table has: it brings no rows")


def entry_of(bucket: str, *sizes: int, key: str = "data/0.parquet", **more: Any) -> Entry:
    files = tuple(InventoryFile(f"{number}{key}", size, "") for number, size in enumerate(sizes))
    inventory = Inventory("s3://x/manifest.json", "x", bucket, 0.0, files=files, **{"format": "parquet", **more})
    return Entry(Delivery(Subject(bucket, "all"), "2026-11-01T01-00Z"), Mock(), inventory, {})


def test_small_inventories_of_one_format_and_the_same_columns_are_read_at_once() -> None:
    item, two = (entry_of(bucket, 1, SMALL_BYTES - 1, columns=COLUMNS) for bucket in "ab")
    assert group_alike([item, two]) == [[item, two]]
    alone = [
        entry_of("c", 1, SMALL_BYTES, columns=COLUMNS),
        entry_of("d", columns=COLUMNS),
        entry_of("e", 1, columns={**COLUMNS, "e_tag": "string"}),
        entry_of("f", 1, columns=dict(reversed(COLUMNS.items()))),
        entry_of("g", 1, columns=COLUMNS, format="orc"),
        # Spark's address of such a file is not its key.
        entry_of("h", 1, columns=COLUMNS, key="data/a b.parquet"),
    ]
    assert group_alike([item, *alone, two]) == [[item, two], *([each] for each in alone)]
