from __future__ import annotations

from itertools import pairwise

import pytest

from tidegate.platform.core.config.load import load_lake
from tidegate.platform.demo.storage import storage_lake_file
from tidegate.platform.demo.storage.company import bucket_name, company
from tidegate.platform.demo.storage.planted_buckets import (
    LEGACY,
    ORDERS,
    REPLICATED,
    STEADY,
    STEADY_BYTES,
    STILL,
    VERSIONS,
    loaded_orders,
    order_body,
)

BUCKETS = company(100, 30)


@pytest.mark.parametrize("number", [ORDERS, STEADY, STILL, VERSIONS, LEGACY, REPLICATED])
def test_a_bucket_with_something_to_find_has_an_inventory_of_the_last_day(number: int) -> None:
    assert BUCKETS[number].newest_inventory_day(29) == 29


def test_one_bucket_grows_by_the_same_bytes_each_day_and_one_not_at_all() -> None:
    def sizes(number: int) -> list[int]:
        return [sum(stored.size for stored in BUCKETS[number].objects_on(day)) for day in range(30)]

    steady = sizes(STEADY)
    assert {after - before for before, after in pairwise(steady)} == {STEADY_BYTES}
    assert len(set(sizes(STILL))) == 1


def test_a_version_of_a_key_is_in_an_inventory_once() -> None:
    keys = [(stored.key, stored.version) for stored in BUCKETS[VERSIONS].objects_on(29)]
    assert len(set(keys)) == len(keys)
    assert BUCKETS[VERSIONS].has_versions
    assert not BUCKETS[LEGACY].has_versions


def test_the_table_of_orders_is_in_the_bucket_that_has_its_files() -> None:
    lake = load_lake(storage_lake_file(), env={"TIDEGATE_QUEUE_URL": "http://127.0.0.1:4566/000000000000/q"})
    (orders,) = (spec for spec in lake.tables if spec.name == "orders")
    assert orders.table_key.bucket == bucket_name(ORDERS)
    listed = {stored.key: stored.size for stored in BUCKETS[ORDERS].objects_on(29)}
    assert all(key.startswith(orders.table_key.prefix) for key in loaded_orders())
    assert all(listed[key] == len(order_body(key)) for key in loaded_orders())
