"""The report of what storage costs: what Spark sums, and what the prices make of it."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support.lakes.inventory import Line, deliver
from tidegate.platform.cli.inventory.cost import run_cost
from tidegate.platform.core.inventory.cost import cost_lines
from tidegate.platform.core.inventory.prices import StoragePrices
from tidegate.platform.testing import TestLake
from tidegate.resources.inventory.sums import stored_sums

CREATED = datetime(2026, 11, 1, 1, tzinfo=UTC).timestamp()


def test_the_report_of_costs_is_what_a_calculation_object_by_object_gives(
    tidegate_lake: Callable[..., TestLake], kit: Any, tmp_path: Path
) -> None:
    """The rules are written here again, for one object. Prices are made."""
    lake = tidegate_lake([{"name": "objects", "prefix": "inventory/", "mode": "inventory"}])
    chance, kinds = random.Random(7), ["STANDARD", "STANDARD_IA", "DEEP_ARCHIVE", "OTHER", None]
    lines = [Line("a/b/marker", None, None, marker=True)]
    expected: dict[tuple[str, ...], tuple[int, int, float]] = {}
    unpriced = 0
    for number in range(200):
        kind, size = chance.choice(kinds), chance.choice([0, 1, 100_000, 131_072, 131_073, 5_000_000])
        folder = chance.choice(["a/b/", "a/c/", "d/", ""])
        lines.append(Line(f"{folder}{number}", size, "e", latest=chance.random() < 0.7, more={"StorageClass": kind}))
        cost = {
            "STANDARD": size * 2.0,
            "STANDARD_IA": max(size, 131_072) * 0.5,
            "DEEP_ARCHIVE": (size + 32_768) * 0.1 + 8_192 * 2.0,
        }.get(kind or "", 0.0)
        unpriced += size if kind in ("OTHER", None) else 0
        group = (f"{folder.split('/')[0]}/" if folder else "", kind or "unknown")
        objects, total, money = expected.get(group, (0, 0, 0.0))
        expected[group] = (objects + 1, total + size, money + cost / 2**30)
    found = deliver(lines, prefix="inventory/acme/all/", source="acme", created=CREATED, fields=["StorageClass"])
    for key, body in found.objects.items():
        lake.put(key, body)
    lake.intake()
    kit.run(lake, "objects", listing=False)
    rows = lake.lake.delta.session.read.format("delta").load(kit.location(lake, "objects"))
    tiers = {"STANDARD": ((0.0, 2.0),), "STANDARD_IA": ((0.0, 0.5),), "DEEP_ARCHIVE": ((0.0, 0.1),)}

    report = cost_lines(stored_sums(rows, ["prefix", "storage_class"], 1), StoragePrices("EUR", "2026-11-01", tiers))

    counted = {group: (objects, total) for group, (objects, total, _) in expected.items()}
    assert {line.group: (line.objects, line.size) for line in report} == counted
    assert {line.group: line.cost for line in report} == pytest.approx({key: one[2] for key, one in expected.items()})
    assert sum(line.unpriced for line in report) == unpriced
    file = tmp_path / "index.csv"
    rows_of_prices = [
        "SKU,TermType,EffectiveDate,StartingRange,Unit,PricePerUnit,Currency,usageType",
        "A,OnDemand,2026-11-01,0,GB-Mo,2.0,EUR,TimedStorage-ByteHrs",
    ]
    file.write_text("\n".join(rows_of_prices))
    console = Console(file=io.StringIO(), width=200)
    run_cost(console, lake.lake, "objects", file, "storage_class", 1, "", 2)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "and 3 more lines: --limit shows more" in said
    assert "GiB are of storage classes without a price" in said
    classes = {one.group for one in stored_sums(rows, ["bucket", "age", "size"], 1)}
    assert classes == {("acme", "to a year", name) for name in ("to 128 KiB", "to 1 MiB", "to 128 MiB")}
