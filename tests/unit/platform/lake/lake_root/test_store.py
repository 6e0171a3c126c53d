"""The lake's own objects: an object that does not belong there is named and skipped, and the others are read."""

from __future__ import annotations

import pytest

from tests.support.lakes.objects import Objects
from tidegate.platform.core.bronze.batch import Batch, Create
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.lake_root.batches import GenerationRetired
from tidegate.platform.lake.lake_root.store import LakeStore

ORDERS, ITEMS = "landing.orders", "landing.items"


@pytest.fixture
def objects() -> Objects:
    return Objects()


@pytest.fixture
def store(objects: Objects) -> LakeStore:
    return LakeStore(objects, "s3://lake/root")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "key",
    [
        "inbox/.DS_Store",
        "inbox/readme.md",
        f"inbox/{ORDERS}/",
        f"inbox/{ORDERS}/notes.txt",
        f"inbox/{ORDERS}/01JD0000000000000000000000-1",
        f"inbox/{ORDERS}/old/01JD0000000000000000000000-1.json",
        "inbox/No Table/01JD0000000000000000000000-1.json",
    ],
)
def test_a_stray_in_the_inbox_is_named_and_skipped(store: LakeStore, objects: Objects, key: str) -> None:
    store.inbox.put([Manifest.create(table, "intake", [Hint("a")]) for table in (ORDERS, ITEMS)])
    objects.bodies[f"root/{key}"] = "?"
    contents = store.inbox.contents()
    assert [(backlog.table, backlog.hints) for backlog in contents.waiting] == [(ITEMS, 1), (ORDERS, 1)]
    (stray,) = contents.strays
    assert stray.startswith(f"s3://lake/root/{key} is not a manifest and is skipped: ")
    assert stray.endswith("Move it away")
    assert len(store.inbox.waiting_manifests(ORDERS)) == 1
    assert store.table_keys() == {ORDERS, ITEMS}


@pytest.mark.parametrize("name", [".DS_Store", f"{ORDERS}.json.bak", "No Table.json", f"{ORDERS}/old.json"])
def test_a_stray_among_the_births_is_named_and_skipped(store: LakeStore, objects: Objects, name: str) -> None:
    store.births.ensure_birth(ITEMS, "items", registered=True)
    objects.bodies[f"root/tables/{name}"] = "?"
    assert store.births.tables() == [ITEMS]
    assert store.table_keys() == {ITEMS}
    (stray,) = store.births.describe_strays()
    assert stray == f"s3://lake/root/tables/{name} is not a table's birth record and is skipped. Move it away"


def test_a_birth_record_that_cannot_be_read_is_named(store: LakeStore, objects: Objects) -> None:
    objects.bodies[f"root/tables/{ORDERS}.json"] = "{"
    with pytest.raises(ValueError, match=rf"s3://lake/root/tables/{ORDERS}.json is not a birth record"):
        store.births.read(ORDERS)


def test_a_generation_that_is_retired_decides_nothing_more(store: LakeStore) -> None:
    """A batch or a second reset that comes later finds the first reset and changes nothing."""
    batches = store.batches(ORDERS)
    first = _batch(1)
    assert batches.decide(first) == first
    retirement = batches.retire(0, "somebody")
    assert batches.retire(1, "somebody else") == retirement
    assert retirement.by == "somebody"
    assert batches.read(1) == first
    for late in (lambda: batches.decide(_batch(2)), lambda: batches.read(2)):
        with pytest.raises(GenerationRetired, match=r"a reset by somebody at .* repeat it with `tidegate reset`"):
            late()
    assert store.batches(f"{ORDERS}..{retirement.generation}").read(1) is None


def test_a_generation_that_an_adoption_retired_names_that_command(store: LakeStore) -> None:
    batches = store.batches(ORDERS)
    assert batches.retirement() is None
    batches.decide(_batch(1))
    assert batches.retirement() is None
    retirement = batches.retire(0, "somebody", "adopt")
    assert batches.retirement() == retirement == batches.retire(0, "somebody else")
    with pytest.raises(GenerationRetired, match=r"an adoption by somebody at .* the adoption .* `tidegate adopt`"):
        batches.read(2)


def test_a_table_s_birth_is_found_behind_batches_that_only_refused_files(store: LakeStore) -> None:
    batches, create = store.batches(ORDERS), Create(TableSchema(), {}, "orders")
    assert batches.birth() is None
    for n in (1, 2):
        batches.decide(_batch(n))
        assert batches.birth() is None
    batches.decide(_batch(3, create))
    batches.decide(_batch(4))
    assert batches.birth() == create.schema
    void = store.key("batches", ORDERS, f"{3:020d}.void")
    store.objects.put(store.bucket, void, "")
    assert batches.birth() is None, "what landed void gave the table nothing"


def _batch(n: int, create: Create | None = None) -> Batch:
    return Batch("lake", ORDERS, "g", n, "s3a://b/t", -1, (), create=create).seal()
