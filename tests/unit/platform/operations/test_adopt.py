"""Adoptions of one table at once end in one generation, and an adopted table is not reset."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects
from tidegate.platform.core.bronze.batch import Adopt, Batch
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.operations.adopt import _begin_generation, _current_generation, _decide, plan_adoption
from tidegate.platform.operations.reset import plan_reset

KEY = TableKey("landing", "orders/")
ORDERS, LOCATION = KEY.encode(), "s3a://landing/orders"


@pytest.fixture
def store() -> LakeStore:
    return LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]


def _batch(generation: str, version: int) -> Batch:
    adopt = Adopt({}, "s3a://lake/root/ledger/seed", 1)
    return Batch("lake", ORDERS, generation, 1, LOCATION, version, (), adopt=adopt).seal()


def _plan(store: LakeStore, version: int = 7, now: int = 7) -> Any:
    delta = SimpleNamespace(table_state=lambda location: SimpleNamespace(version=now))
    spec = SimpleNamespace(name="orders")
    table = SimpleNamespace(table_key=ORDERS, spec=spec, birth=None, lake=SimpleNamespace(store=store), delta=delta)
    return SimpleNamespace(table=table, state=SimpleNamespace(version=version), location=LOCATION)


def test_an_adoption_takes_the_batch_that_another_one_decided_meanwhile(store: LakeStore) -> None:
    plan = _plan(store)
    assert _current_generation(plan.table, 7) == ("", "", None)
    generation, folder, none = _begin_generation(plan, "eva")
    assert none is None
    assert _begin_generation(plan, "adam") == (generation, folder, None), "it was begun and not decided"
    decided = store.batches(folder).decide(_batch(generation, 7))
    # The other one may have committed: then the table has another version.
    assert _begin_generation(_plan(store, now=8), "adam") == (generation, folder, decided)
    assert store.batches(folder).retirement() is None


def test_an_adoption_of_a_later_version_ends_what_can_never_commit(store: LakeStore) -> None:
    generation, folder, _ = _begin_generation(_plan(store), "eva")
    store.batches(folder).decide(_batch(generation, 7))
    with pytest.raises(DataError, match="another writer commits to"):
        _begin_generation(_plan(store, 8, now=9), "adam")
    assert store.batches(folder).retirement() is None, "nothing was ended"
    later, _, batch = _begin_generation(_plan(store, 8, now=8), "adam")
    assert (later != generation, batch) == (True, None)


def test_a_repetition_says_what_was_decided(store: LakeStore) -> None:
    plan = _plan(store)
    generation, folder, _ = _begin_generation(plan, "eva")
    adopt = Adopt({}, "s3a://lake/root/ledger/seed", 1, enter=True)
    store.batches(folder).decide(replace(_batch(generation, 7), adopt=adopt).seal())
    said: list[str] = []
    objects: Any = None
    assert _decide(plan, objects, "eva", said.append, enter=True) is True
    assert said == []
    assert _decide(plan, objects, "adam", said.append, enter=False) is True
    assert said == ["WARNING: an earlier command decided this with --enter, and that stays"]


def _lake(store: LakeStore, properties: dict[str, str], *, n: int = 0, registered: bool = True) -> Any:
    state = SimpleNamespace(exists=True, properties=properties, version=8)
    batches = store.batches(f"{ORDERS}..g1")
    batches.decide(_batch("g1", 7))
    table = SimpleNamespace(
        key=KEY,
        birth=Birth("g1", LOCATION, "orders", registered),
        batches=batches,
        spec=SimpleNamespace(registers=True, output_mode=None),
        ledger=SimpleNamespace(clock=lambda: SimpleNamespace(n=n)),
    )
    delta = SimpleNamespace(table_state=lambda location: state)
    return SimpleNamespace(id="lake", table=lambda _: table, delta=delta)


@pytest.mark.parametrize("n", [0, 1])
def test_an_adoption_without_a_record_is_not_finished(store: LakeStore, n: int) -> None:
    plan = plan_adoption(_lake(store, {"tidegate.lake": "lake", "tidegate.generation": "g1"}, n=n), ORDERS)
    assert (plan.adopted, plan.unfinished) == (True, n == 0)


def test_a_table_with_half_of_an_owner_is_refused_at_once(store: LakeStore) -> None:
    with pytest.raises(DataError, match=r"belongs to lake unknown, .* UNSET TBLPROPERTIES"):
        plan_adoption(_lake(store, {"tidegate.generation": "g0"}), ORDERS)


def test_a_prefix_whose_files_were_loaded_has_a_way_that_works(store: LakeStore) -> None:
    with pytest.raises(DataError, match=r"does not change that .*aws s3 mv --recursive"):
        plan_adoption(_lake(store, {}, registered=False), ORDERS)


def test_an_adopted_table_is_not_reset(store: LakeStore) -> None:
    batches = store.batches(f"{ORDERS}..g1")
    batches.decide(_batch("g1", 7))
    table = SimpleNamespace(key=KEY, birth=Birth("g1", LOCATION, "orders", True), batches=batches)
    lake: Any = SimpleNamespace(table=lambda _: table)
    with pytest.raises(DataError, match=r"was adopted, and is not reset: .* what delta.`s3a://landing/orders` shows"):
        plan_reset(lake, ORDERS)
