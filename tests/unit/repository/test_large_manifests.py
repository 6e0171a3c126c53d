"""What a large manifest says takes several times its bytes, so one is parsed after another in a process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from threading import Barrier, BrokenBarrierError, Thread
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from tidegate.platform.bronze.completion import parts
from tidegate.platform.core.inventory.manifest import Inventory, InventoryError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.inventory import deliveries

_FOLDER = S3Address("inventories", "of/landing/daily/2026-01-01T00-00Z/")


def _inventory(body: bytes) -> None:
    checksum = hashlib.md5(body, usedforsecurity=False).hexdigest().encode()
    deliveries.prove_inventory(None, _FOLDER, checksum, body)  # type: ignore[arg-type]


def _dataset(body: bytes) -> None:
    objects: Any = SimpleNamespace(get=lambda *_: body)
    config: Any = None
    name: Any = SimpleNamespace(kind=None, manifest_of=lambda key: key)
    signal: Any = SimpleNamespace(key="t/_manifest")
    parts._read_named_parts(TableKey("landing", "t/"), Bucket(objects, "landing"), config, name, signal)


@pytest.mark.parametrize("read", [_inventory, _dataset])
@pytest.mark.parametrize(("size", "meet"), [(1_000, True), (300_000, False)])
def test_large_manifests_are_parsed_one_after_another(
    read: Callable[[bytes], None], size: int, meet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, met = Barrier(2), list[bool]()

    def parsed(*_: object) -> NoReturn:
        try:
            together.wait(0.3)
            met.append(True)
        except BrokenBarrierError:
            met.append(False)
        raise InventoryError("read")

    monkeypatch.setattr(Inventory, "from_manifest", parsed)
    monkeypatch.setattr(parts, "named_parts", parsed)

    def run() -> None:
        with suppress(InventoryError):
            read(b" " * size)

    threads = [Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert met == [meet, meet]
