"""Adoptions of one table at once end in one generation, and an adopted table is not reset."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.lakes.objects import Objects
from tests.support.lakes.seams import dying_in
from tidegate.platform.bronze.entry_hints import put_entry_hints
from tidegate.platform.core.bronze.batch import Adopt, Batch
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.hint import Listed
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.operations import adopt
from tidegate.platform.operations.adopt import (
    SEAMS,
    _begin_generation,
    _current_generation,
    _decide,
    _renew_birth,
    plan_adoption,
)
from tidegate.platform.operations.reset import plan_reset

KEY = TableKey("landing", "orders/")
ORDERS, LOCATION = KEY.encode(), "s3a://landing/orders"


@pytest.fixture
def store() -> LakeStore:
    return LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]


def _batch(generation: str, version: int) -> Batch:
    return Batch(
        "lake", ORDERS, generation, 1, LOCATION, version, (), adopt=Adopt({}, "s3a://lake/root/ledger/seed", 1)
    ).seal()


def _plan(store: LakeStore, version: int = 7, now: int = 7) -> Any:
    delta = SimpleNamespace(table_state=lambda location: SimpleNamespace(version=now))
    spec = TableSpec.model_validate({"name": "orders", "prefix": "s3://landing/orders/", "mode": "register"})
    lake = SimpleNamespace(id="lake", store=store)
    table = SimpleNamespace(table_key=ORDERS, spec=spec, birth=None, lake=lake, delta=delta)
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
    entering = Adopt({}, "s3a://lake/root/ledger/seed", 1, enter=True)
    store.batches(folder).decide(replace(_batch(generation, 7), adopt=entering).seal())
    said: list[str] = []
    objects: Any = None
    assert _decide(plan, objects, "eva", said.append, enter=True) is True
    assert said == []
    assert _decide(plan, objects, "adam", said.append, enter=False) is True
    assert said == ["WARNING: an earlier command decided this with --enter, and that stays"]


@pytest.mark.parametrize("seam", SEAMS[1:])
def test_no_object_enters_before_its_batch_has_committed(
    store: LakeStore, seam: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adopt, "_write_seed", lambda objects, seed, *, enter: 1)
    plan, objects = _plan(store), cast(Any, None)
    with dying_in(adopt, seam):
        _decide(plan, objects, "eva", print, enter=True)
    assert not list(store.inbox.waiting_manifests(ORDERS))
    # The repetition lets objects enter only if that was decided.
    assert _decide(plan, objects, "adam", print, enter=False) is (seam in ("adopt-decide", "adopt-birth"))
    assert not list(store.inbox.waiting_manifests(ORDERS))


@pytest.mark.parametrize(("enter", "n", "hints"), [(True, 0, 3), (True, 1, 0), (False, 0, 0)])
def test_hints_of_what_enters_come_before_the_ledger_begins(enter: bool, n: int, hints: int) -> None:
    put: list[Manifest] = []
    rows = SimpleNamespace(toLocalIterator=lambda: iter([{"key": f"orders/{i}.parquet", "size": 1} for i in range(3)]))
    ledger: Any = SimpleNamespace(clock=lambda: SimpleNamespace(n=n), objects_to_enter=lambda _: rows)
    inbox: Any = SimpleNamespace(put=put.extend)
    batch = replace(_batch("g1", 7), adopt=Adopt({}, "s3a://lake/root/ledger/seed", 3, enter))
    put_entry_hints(inbox, ledger, batch, 2, lambda _: None)
    assert [hint.cause for manifest in put for hint in manifest.hints] == [Listed()] * hints
    assert len(put) == (hints + 1) // 2


def test_an_adoption_that_slept_does_not_keep_the_table_from_the_one_that_owns_it(store: LakeStore) -> None:
    _, early, _ = _begin_generation(_plan(store), "eva")
    store.batches(early).decide(_batch(early.split("..")[1], 7))
    owner, folder, _ = _begin_generation(_plan(store, 8, now=8), "adam")
    store.batches(folder).decide(_batch(owner, 8))
    # The first command wakes up, and writes the birth record of a batch that can never commit.
    birth = Birth(early.split("..")[1], LOCATION, "orders", True, early, 7, adopted=True)
    store.births.replace(ORDERS, birth)
    lake = _lake(store, {"tidegate.lake": "lake", "tidegate.generation": owner})
    table = lake.table(ORDERS)
    table.birth, table.table_key, table.lake = birth, ORDERS, SimpleNamespace(store=store)
    plan = plan_adoption(lake, ORDERS)
    assert (plan.adopted, plan.unfinished) == (True, True)
    _renew_birth(plan)
    assert store.births.read(ORDERS) == Birth(owner, LOCATION, "orders", True, folder, 8, adopted=True)


def _lake(store: LakeStore, properties: dict[str, str], *, n: int = 0, registered: bool = True) -> Any:
    state = SimpleNamespace(exists=True, properties=properties, version=8)
    batches = store.batches(f"{ORDERS}..g1")
    batches.decide(_batch("g1", 7))
    table = SimpleNamespace(
        key=KEY,
        birth=Birth("g1", LOCATION, "orders", registered),
        batches=batches,
        spec=SimpleNamespace(name="orders", registers=True, output_mode=None),
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
    table = SimpleNamespace(key=KEY, birth=Birth("g1", LOCATION, "orders", True, adopted=True))
    lake: Any = SimpleNamespace(table=lambda _: table)
    with pytest.raises(DataError, match=r"was adopted, and is not reset: .* what delta.`s3a://landing/orders` shows"):
        plan_reset(lake, ORDERS)
