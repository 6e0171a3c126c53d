from __future__ import annotations

from typing import Any
from unittest.mock import Mock

from tidegate.platform.bronze.prepare.inventories.alike import SMALL_BYTES, alike
from tidegate.platform.bronze.prepare.inventories.entry import Entry
from tidegate.platform.core.inventory.delivery import Delivery, Subject
from tidegate.platform.core.inventory.manifest import Inventory, InventoryFile

COLUMNS = {"key": "string", "size": "bigint"}


def entry(bucket: str, *sizes: int, key: str = "data/0.parquet", **more: Any) -> Entry:
    files = tuple(InventoryFile(f"{number}{key}", size, "") for number, size in enumerate(sizes))
    inventory = Inventory("s3://x/manifest.json", "x", bucket, 0.0, files=files, **{"format": "parquet", **more})
    return Entry(Delivery(Subject(bucket, "all"), "2026-11-01T01-00Z"), Mock(), inventory, {})


def test_small_inventories_of_one_format_and_the_same_columns_are_read_at_once() -> None:
    one, two = (entry(bucket, 1, SMALL_BYTES - 1, columns=COLUMNS) for bucket in "ab")
    assert alike([one, two]) == [[one, two]]
    alone = [
        entry("c", 1, SMALL_BYTES, columns=COLUMNS),
        entry("d", columns=COLUMNS),
        entry("e", 1, columns={**COLUMNS, "e_tag": "string"}),
        entry("f", 1, columns=dict(reversed(COLUMNS.items()))),
        entry("g", 1, columns=COLUMNS, format="orc"),
        # Spark's address of such a file is not its key.
        entry("h", 1, columns=COLUMNS, key="data/a b.parquet"),
    ]
    assert alike([one, *alone, two]) == [[one, two], *([each] for each in alone)]
