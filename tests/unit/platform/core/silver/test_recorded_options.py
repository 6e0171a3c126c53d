"""A silver table records after which batch bronze was read first."""

from __future__ import annotations

from tidegate.platform.core.silver.recorded_options import first_reading, read_after

APP = "tidegate:lake:silver:items:id:g1"


def test_the_earliest_of_all_first_merges_counts() -> None:
    """Two runs may begin at once. The mark does not show which of them read the rows."""
    properties = {"delta.appendOnly": "false", **first_reading(120, APP), **first_reading(7, APP)}
    assert read_after(properties, APP) == 7


def test_numbers_of_another_bronze_table_do_not_count() -> None:
    properties = {**first_reading(120, APP), **first_reading(3, APP.replace("g1", "g2"))}
    assert read_after(properties, APP) == 120
    assert read_after(first_reading(3, APP), f"{APP}:restored") is None
