"""What a report makes of sums."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.platform.core.storage.cost import BY, CostReport, StoredSum, cost_lines, roll_up
from tidegate.platform.core.storage.prices import FREQUENT, GIGABYTE, StoragePrices

PRICES = StoragePrices(
    "USD",
    "2026-11-01",
    {"STANDARD": ((0.0, 0.02), (51200.0, 0.01)), "DEEP_ARCHIVE": ((0.0, 0.001),), FREQUENT: ((0.0, 0.5),)},
    monitoring=0.25,
)

REPORT_PRICES = StoragePrices("EUR", "2026-11-01", {"STANDARD": ((0.0, 0.02), (5.0, 0.01))})


def test_a_group_pays_its_share_of_the_tiers_and_what_has_no_price_is_named() -> None:
    big, small = 51_100 * GIGABYTE, 200 * GIGABYTE
    sums = [
        StoredSum(("a",), "STANDARD", 10, big, big, 0),
        StoredSum(("b",), "STANDARD", 1, small, small, 0),
        StoredSum(("b",), "DEEP_ARCHIVE", 2, GIGABYTE, 2 * GIGABYTE, 0),
        StoredSum(("b",), "unknown", 1, 5, 5, 0),
    ]
    first, second = cost_lines(sums, PRICES)
    standard = 51_200 * 0.02 + 100 * 0.01
    assert (first.group, first.objects, first.size, first.unpriced) == (("a",), 10, big, 0)
    assert first.cost == pytest.approx(standard * 51_100 / 51_300)
    assert (second.group, second.objects, second.unpriced) == (("b",), 4, 5)
    assert second.cost == pytest.approx(standard * 200 / 51_300 + 2 * 0.001)
    assert cost_lines([], PRICES) == []


def test_each_object_that_is_monitored_costs_its_fee() -> None:
    (line,) = cost_lines([StoredSum(("a",), FREQUENT, 5, GIGABYTE, GIGABYTE, 0, 4)], PRICES)
    assert (line.cost, line.without_fee) == (pytest.approx(0.5 + 4 * 0.25), 0)


def test_a_fee_whose_price_is_not_known_is_named() -> None:
    sums = [StoredSum(("a",), kind, 5, GIGABYTE, GIGABYTE, 0, 4) for kind in (FREQUENT, "STANDARD")]
    (line,) = cost_lines(sums, replace(PRICES, monitoring=None))
    assert (line.cost, line.without_fee) == (pytest.approx(0.5 + 0.02), 8)
    (line,) = cost_lines(sums, replace(PRICES, monitoring=0.0))
    assert line.without_fee == 0, "a price of zero is a price"


def test_sums_by_fewer_dimensions_have_the_same_cost() -> None:
    sums = [
        StoredSum((bucket, prefix), kind, 1, size, size + 1, 3, 2)
        for number, bucket in enumerate("aab")
        for prefix in ("x/", "y/")
        for kind, size in (("STANDARD", 7 + number), (FREQUENT, 11))
    ]
    found = roll_up(sums, ("bucket", "prefix"), ("bucket",))
    assert {(stored_sum.group, stored_sum.storage_class) for stored_sum in found} == {
        ((bucket,), kind) for bucket in "ab" for kind in ("STANDARD", FREQUENT)
    }
    a = next(
        stored_sum for stored_sum in found if stored_sum.group == ("a",) and stored_sum.storage_class == "STANDARD"
    )
    assert a == StoredSum(("a",), "STANDARD", 4, 30, 34, 12, 8)
    assert sum(line.cost for line in cost_lines(found, PRICES)) == pytest.approx(
        sum(line.cost for line in cost_lines(sums, PRICES))
    )


def test_every_division_adds_up_to_the_total() -> None:
    sums = [
        StoredSum((bucket, prefix, kind, age, size), kind, 1, GIGABYTE, GIGABYTE, 0)
        for bucket in "abc"
        for prefix in ("x/", "")
        for kind in ("STANDARD", "OTHER")
        for age, size in (("old", "small"), ("new", "large"))
    ]
    report = CostReport.from_sums(sums, REPORT_PRICES)
    assert (report.objects, report.size, report.unpriced) == (24, 24 * GIGABYTE, 12 * GIGABYTE)
    assert report.cost == pytest.approx(5 * 0.02 + 7 * 0.01)
    assert set(report.lines) == set(BY)
    assert {by: len(lines) for by, lines in report.lines.items()} == {
        ("bucket",): 3,
        ("bucket", "prefix"): 6,
        ("storage_class",): 2,
        ("age",): 2,
        ("size",): 2,
    }
    for lines in report.lines.values():
        assert sum(line.cost for line in lines) == pytest.approx(report.cost)


def test_nothing_costs_nothing() -> None:
    report = CostReport.from_sums([], REPORT_PRICES)
    assert (report.objects, report.size, report.cost, report.unpriced) == (0, 0, 0, 0)
