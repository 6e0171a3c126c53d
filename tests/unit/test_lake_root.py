"""The lake's own objects: what does not belong among them is named and skipped, and everything else goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tidegate.platform.core.manifest import Hint, Manifest
from tidegate.resources.lake_root.store import LakeStore
from tidegate.resources.object_store import Listed

ORDERS, ITEMS = "landing.orders", "landing.items"


class Objects:
    """S3 in a dictionary."""

    def __init__(self) -> None:
        self.bodies: dict[str, str] = {}

    def put(self, bucket: str, key: str, body: str) -> None:
        self.bodies[key] = body

    def put_if_absent(self, bucket: str, key: str, body: str) -> bool:
        return self.bodies.setdefault(key, body) is body

    def get(self, bucket: str, key: str) -> str | None:
        return self.bodies.get(key)

    def under(self, bucket: str, prefix: str, after: str = "") -> Iterator[Listed]:
        for key in sorted(self.bodies):
            if key.startswith(prefix) and key > after:
                yield Listed(key, "etag", len(self.bodies[key]), 0.0)

    def folders(self, bucket: str, prefix: str) -> list[str]:
        found = [key[len(prefix) :] for key in self.bodies if key.startswith(prefix)]
        return sorted({rest.split("/")[0] for rest in found if "/" in rest})


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
    store.inbox.put([Manifest.new(table, "intake", [Hint("a")]) for table in (ORDERS, ITEMS)])
    objects.bodies[f"root/{key}"] = "?"
    contents = store.inbox.contents()
    assert [(one.table, one.hints) for one in contents.waiting] == [(ITEMS, 1), (ORDERS, 1)]
    (stray,) = contents.strays
    assert stray.startswith(f"s3://lake/root/{key} is no manifest and is skipped: ")
    assert stray.endswith("Move it away")
    assert len(store.inbox.waiting(ORDERS)) == 1
    assert store.table_keys() == {ORDERS, ITEMS}


@pytest.mark.parametrize("name", [".DS_Store", f"{ORDERS}.json.bak", "No Table.json", f"{ORDERS}/old.json"])
def test_a_stray_among_the_births_is_named_and_skipped(store: LakeStore, objects: Objects, name: str) -> None:
    store.births.bear(ITEMS, "items", registered=True)
    objects.bodies[f"root/tables/{name}"] = "?"
    assert store.births.tables() == [ITEMS]
    assert store.table_keys() == {ITEMS}
    (stray,) = store.births.strays()
    assert stray == f"s3://lake/root/tables/{name} is no table's birth record and is skipped. Move it away"


def test_a_birth_record_that_cannot_be_read_is_named(store: LakeStore, objects: Objects) -> None:
    objects.bodies[f"root/tables/{ORDERS}.json"] = "{"
    with pytest.raises(ValueError, match=rf"s3://lake/root/tables/{ORDERS}.json is not a birth record"):
        store.births.read(ORDERS)
