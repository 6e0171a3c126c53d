"""The report of costs has the same total in each of its divisions."""

from __future__ import annotations

import pytest

from tidegate.platform.core.storage.cost import StoredSum
from tidegate.platform.core.storage.cost_report import BY, CostReport
from tidegate.platform.core.storage.prices import GIGABYTE, StoragePrices

PRICES = StoragePrices("EUR", "2026-11-01", {"STANDARD": ((0.0, 0.02), (5.0, 0.01))})


def test_every_division_adds_up_to_the_total() -> None:
    sums = [
        StoredSum((bucket, prefix, kind, age, size), kind, 1, GIGABYTE, GIGABYTE, 0)
        for bucket in "abc"
        for prefix in ("x/", "")
        for kind in ("STANDARD", "OTHER")
        for age, size in (("old", "small"), ("new", "large"))
    ]
    report = CostReport.of(sums, PRICES)
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
    report = CostReport.of([], PRICES)
    assert (report.objects, report.size, report.cost, report.unpriced) == (0, 0, 0, 0)
