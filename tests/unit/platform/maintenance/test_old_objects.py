"""Retention of objects under the lake root: what is deleted, and what never is."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.lakes.seams import dying_in
from tests.unit.platform.maintenance.test_vacuum import Objects
from tidegate.platform.core.config.lake import MaintainSpec
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.maintenance import deletion
from tidegate.platform.maintenance.old_objects import QUARANTINE, maintain_objects, retentions

#: Objects that the lake works with, or that a person asked for: kept for ever.
KEPT = (
    "lake.json",
    "reconcile.json",
    "listings/landing.orders..g.json",
    "proven/endpoint.json",
    "after/landing.orders/1.json",
    "waiting/landing.orders.json",
    "signals/landing.orders/1.json",
    "inbox/landing.orders/1.json",
    "batches/landing.orders/1.json",
    "outbox/route/1.jsonl",
    "tables/landing.orders.json",
    "bronze/landing.orders/part.parquet",
    "silver/orders/part.parquet",
    "ledger/landing.orders/part.parquet",
    "rows/clicks/2026-01-01/1.jsonl",
    "operations/2026-01-01/1.json",
    "forgotten/requests/1.json",
    "outputs/landing.orders/g/1-2/part.parquet",
)
QUARANTINED = tuple(f"quarantine/{kind}/1.json" for kind in ("messages", "redriven", "routes/r", "rows/landing.orders"))


def lake_of(spec: MaintainSpec, ages: dict[str, float]) -> Any:
    store = LakeRoot(Objects(ages), "s3://lake/root")  # type: ignore[arg-type]
    return SimpleNamespace(store=store, config=SimpleNamespace(maintenance=spec))


def aged() -> dict[str, float]:
    """Return every kind of object, a thousand days old, and objects of the intake log of all ages."""
    old = {f"root/{name}": 1000.0 for name in (*KEPT, *QUARANTINED, "staging/landing.orders/1")}
    dated = {f"root/intake/2026-01-{31 - day:02}/1.json": day * 10.0 - 1 for day in range(30)}
    return {**old, **dated, "root/staging/landing.orders/young": 6.0, "root/intakes/1.json": 1000.0}


def test_old_objects_of_the_intake_log_and_of_staging_are_deleted_and_no_others() -> None:
    ages = aged()
    lake = lake_of(MaintainSpec(), ages)
    planned = maintain_objects(lake, time.time(), dry_run=True)
    assert ages == aged(), "a dry run deletes nothing"
    done = maintain_objects(lake, time.time(), dry_run=False)
    assert done == planned
    assert {found.name: found.data.files for found in done} == {"intake/": 20, "staging/": 1}
    assert set(aged()) - set(ages) == {
        *(f"root/intake/2026-01-{31 - day:02}/1.json" for day in range(10, 30)),
        "root/staging/landing.orders/1",
    }


def test_the_quarantine_is_deleted_only_if_it_has_a_retention() -> None:
    ages = aged()
    maintain_objects(lake_of(MaintainSpec(quarantine=30), ages), time.time(), dry_run=False)
    gone = set(aged()) - set(ages)
    assert {f"root/{name}" for name in QUARANTINED} <= gone
    assert not {f"root/{name}" for name in KEPT} & gone


def test_a_run_that_dies_between_two_portions_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "_AT_ONCE", 3)
    ages = aged()
    lake = lake_of(MaintainSpec(), ages)
    with dying_in(deletion, "maintain-objects"):
        maintain_objects(lake, time.time(), dry_run=False)
    assert len(aged()) - len(ages) == 3
    maintain_objects(lake, time.time(), dry_run=False)
    assert not [found for found in maintain_objects(lake, time.time(), dry_run=True) if found.data.files]


def test_the_quarantine_is_kept_for_ever_unless_lake_yaml_gives_it_days() -> None:
    assert retentions(MaintainSpec()) == {"intake": 90, "staging": 7}
    assert retentions(MaintainSpec(quarantine=30)) == {"intake": 90, "staging": 7, **dict.fromkeys(QUARANTINE, 30)}


def test_nothing_that_the_contract_needs_has_a_retention() -> None:
    folders = {folder.split("/")[0] for folder in retentions(MaintainSpec(versions=1, intake=2, quarantine=7))}
    assert folders == {"intake", "staging", "quarantine"}


@pytest.mark.parametrize("days", [{"versions": 0}, {"intake": 1}, {"quarantine": 6}])
def test_a_retention_that_is_too_short_is_refused(days: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match="greater than or equal"):
        MaintainSpec(**days)  # type: ignore[arg-type]
