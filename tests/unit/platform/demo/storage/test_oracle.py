from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tidegate.platform.demo.storage.company import CompanyBucket, StoredObject
from tidegate.platform.demo.storage.oracle import dollars, expected

GIB = 1 << 30
FIRST = datetime(2026, 10, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("size", "storage_class", "wanted"),
    [
        (GIB, "STANDARD", 0.023),
        (GIB, "STANDARD_IA", 0.0125),
        (1, "STANDARD_IA", 0.0125 / 8_192),  # billed as 128 KiB
        (GIB - 32_768, "DEEP_ARCHIVE", 0.00099 + 0.023 / 131_072),  # 32 KiB more, and 8 KiB in STANDARD
        (0, "STANDARD", 0.0),
    ],
)
def test_an_object_costs_what_s3_bills(size: int, storage_class: str, wanted: float) -> None:
    assert dollars(StoredObject("k", size, storage_class, 0, None)) == pytest.approx(wanted)


def test_a_bucket_has_what_its_newest_inventory_lists() -> None:
    objects = (StoredObject("old", 1, "STANDARD", -5, 8), StoredObject("new", 10, "STANDARD", 6, None))
    weekly, stopped = (
        CompanyBucket(name, name == "b", stops, FIRST, objects) for name, stops in (("a", None), ("b", 5))
    )
    found = expected([weekly, stopped], 9)
    assert (found.rows, found.size) == ({"a": 2, "b": 1}, {"a": 11, "b": 1}), "the days 7 and 5"
    assert found.late == {"b"}
