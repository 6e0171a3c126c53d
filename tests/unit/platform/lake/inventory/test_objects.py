"""Which inventories reports count where buckets have configurations of different names."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb
import pytest

from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.lake.inventory.objects import counted_rows_condition, uncounted_inventories


def newest(**buckets: str) -> dict[Subject, datetime]:
    """Return subjects from the names of the configurations of each bucket, the newest first."""
    return {
        Subject(bucket, name): datetime(2026, 11, 20 - age, tzinfo=UTC)
        for bucket, names in buckets.items()
        for age, name in enumerate(names.split())
    }


GIVEN = newest(a="tidegate", b="legacy", c="legacy tidegate", d="other legacy")


def test_each_bucket_counts_once_whatever_its_configurations_are_called() -> None:
    assert uncounted_inventories(GIVEN, "tidegate") == [("c", "legacy"), ("d", "legacy")]
    assert uncounted_inventories(GIVEN, "legacy") == [("c", "tidegate"), ("d", "other")]
    assert uncounted_inventories(newest(a="one", b="two"), "") == []
    assert uncounted_inventories({}, "any") == []


def test_a_choice_is_needed_where_a_bucket_has_two_and_has_to_exist() -> None:
    with pytest.raises(InventoryError, match=r"the bucket c has inventories of legacy and tidegate, .*: choose a"):
        uncounted_inventories(GIVEN, "")
    with pytest.raises(InventoryError, match="no inventory is of the configuration typo, only of legacy, other, tideg"):
        uncounted_inventories(GIVEN, "typo")


@pytest.mark.parametrize("configuration", ["tidegate", "legacy", "other"])
def test_the_condition_keeps_the_rows_of_what_counts(configuration: str) -> None:
    left_out = uncounted_inventories(GIVEN, configuration)
    rows = ", ".join(f"('{bucket}', '{name}')" for bucket, name in GIVEN)
    condition = counted_rows_condition(GIVEN, left_out)
    kept = duckdb.sql(f"SELECT * FROM (VALUES {rows}) AS t(bucket, configuration) WHERE {condition}").fetchall()
    assert sorted(kept) == sorted(tuple(pair) for pair in GIVEN if pair not in left_out)
    assert {bucket for bucket, _ in kept} == set("abcd")


def test_a_configuration_that_no_bucket_counts_is_one_condition() -> None:
    """After a new name of all configurations, a list of thousands of buckets would be in each query."""
    given = newest(a="new old", b="new old")
    assert counted_rows_condition(given, uncounted_inventories(given, "new")) == "configuration <> 'old'"
    assert counted_rows_condition(given, []) == ""
