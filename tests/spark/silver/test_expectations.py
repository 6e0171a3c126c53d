"""Expectations of a silver table: counted, dropped or failing, in every way of merging."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.lakes.seams import dying_in
from tidegate.platform.silver import merge as silver_merge
from tidegate.platform.silver.audit.key_history import key_history
from tidegate.platform.silver.expect.violations import ExpectationFailed
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]


def test_rows_that_violate_an_expectation_are_counted_dropped_or_fail_the_merge(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    silver = {
        "keys": ["id"],
        "order": "at",
        "delete_when": "gone",
        "expect": {"has_text": "v IS NOT NULL"},
        "expect_or_drop": {"positive": "amount > 0 AND v IS DISTINCT FROM 'two  spaces' -- nothing else"},
        "expect_or_fail": {"known": "id < 100"},
        "every": 10,
    }
    lake = tidegate_lake([{"name": "items", "prefix": "items/", "format": "json", "silver": silver}])

    def land(name: str, *rows: tuple[int, int, int | None, str | None, bool], **more: Any) -> None:
        body = [
            {"id": id, "at": at, "amount": amount, "v": v, "gone": gone, **more} for id, at, amount, v, gone in rows
        ]
        lake.put(f"items/{name}.json", kit.lines(*body))
        kit.run(lake, "items")

    def checks(result: Any) -> dict[str, tuple[bool, int]]:
        return {
            found.check_name: (found.passed, found.metadata["rows"].value)
            for found in result.get_asset_check_evaluations()
            if found.check_name.startswith("expect_")
        }

    land("1", (1, 1, 5, "a", False), (2, 1, 5, None, False), (3, 1, 0, "c", False), (4, 1, None, None, False))
    result = lake.materialize("silver/items")
    assert checks(result) == {
        "expect_has_text": (False, 2),
        "expect_positive": (False, 2),
        "expect_known": (True, 0),
    }
    metadata = kit.metadata(result)
    assert (metadata["violations"]["positive"], metadata["skipped"], metadata["inserted"]) == (2, 0, 2)
    assert kit.silver(lake, "items", "id, amount, v") == [(1, 5, "a"), (2, 5, None)]
    (query,) = (
        found.metadata["sql"].value
        for found in result.get_asset_check_evaluations()
        if found.check_name == "expect_positive"
    )
    assert sorted(row["id"] for row in lake.sql(query)) == [3, 4], "bronze has the dropped rows"

    # A newer row that is dropped leaves the older one. A delete is not asked. A merge that dies is counted once.
    land("2", (1, 2, -1, "dropped", False), (2, 2, None, None, True))
    with dying_in(silver_merge, "silver-gather"):
        kit.merge(lake, "items")
    result = lake.materialize("silver/items")
    assert checks(result)["expect_positive"] == (False, 1)
    assert checks(result)["expect_has_text"] == (True, 0)
    assert kit.silver(lake, "items", "id, amount, v") == [(1, 5, "a")]

    # A row that must not be stops the merge before it changes anything, and the check shows it.
    land("3", (1, 3, 7, "new", False), (100, 3, 7, "unknown", False), (2, 4, None, None, True))
    before = lake.lake.delta.table_state(lake.lake.store.uri("silver", "items")).version
    result = lake.materialize("silver/items", raise_on_error=False)
    assert not result.success
    assert checks(result)["expect_known"] == (False, 1)
    with pytest.raises(ExpectationFailed, match=r"silver\.items: 1 row violated the expectation known of `expect_or_f"):
        kit.merge(lake, "items")
    assert lake.lake.delta.table_state(lake.lake.store.uri("silver", "items")).version == before

    # A condition without a value for a row is named, and so is one that is none of a row. A delete has no condition.
    spec = lake.spec("items")
    for option, condition, why in (
        (
            "expect",
            "10 / (at - 3) > 1",
            r"`expect\.bad` of `silver` in lake\.yaml .* DIVIDE_BY_ZERO in 10 / \(at - 3\)",
        ),
        ("expect", "id / (id - 2) > 1", None),
        ("expect", "rand() > 2", r"bronze does not fit `expect\.bad` of `silver`"),
        ("delete_when", "count(*) > 0", "bronze does not fit `delete_when` of `silver`"),
    ):
        value = {"bad": condition} if option == "expect" else condition
        other = spec.model_copy(update={"silver": spec.silver.model_copy(update={option: value})})
        with pytest.raises(ExpectationFailed if why is None else ValueError, match=why or "expectation known"):
            silver_merge.merge_table(lake.lake, other)

    # The history of a key names the expectation.
    explained = [(event.fate, event.why) for event in key_history(lake.lake, lake.spec("items"), ["id=1"]).events]
    assert explained[1:] == [
        ("expectation", "violates the expectation positive of expect_or_drop"),
        ("won", "silver.items has this row"),
    ]

    # A column that bronze gets reaches silver and its view with the same merge.
    spec = lake.spec("items")
    allowed = spec.model_copy(update={"silver": spec.silver.model_copy(update={"expect_or_fail": {}})})
    land("4", (1, 4, 8, "newer", False), color="red")
    silver_merge.merge_table(lake.lake, allowed)
    found = lake.lake.delta.session.sql("SELECT id, v, color FROM silver.items ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(1, "newer", "red"), (100, "unknown", None)]
