"""The lake of the release before is continued by this version, and is not touched by one that is too old for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.lakes.kept_lake import CELLS, DECIDED, FILES, LAKES, NAME, ORDERS, SILVER, TABLES, unpack
from tidegate.platform.core.stored_members import NewerVersionError
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.testing import TestLake

#: The archive with the highest version.
NEWEST = max(LAKES.glob("*.zip"), key=lambda path: [int(part) for part in path.stem.split(".")])


def opened(stack: LocalStack, folder: Path) -> TestLake:
    lake = TestLake(stack, folder, NAME, TABLES, {"discovery": False})
    unpack(lake, NEWEST)
    lake.intake()
    return lake


def test_the_lake_of_the_release_before_is_continued_and_a_newer_one_is_not_touched(
    tidegate_lake: Callable[..., TestLake], tidegate_stack: LocalStack, kit: Any, tmp_path: Path
) -> None:
    lake = opened(tidegate_stack, tmp_path)

    # What a newer version leaves: a manifest with a member that this one does not know.
    inbox = lake.lake.store.inbox
    key = inbox.key(lake.key("orders"), inbox.waiting_manifests(lake.key("orders"))[0].id)
    body = json.loads(lake.lake.store.objects.get(lake.lake_bucket, key) or b"")
    newer = json.dumps({**body, "from": "the future"})
    lake.clients.s3.put_object(Bucket=lake.lake_bucket, Key=key, Body=newer)
    with pytest.raises(NewerVersionError, match=r"a newer Tidegate wrote this lake[.] Upgrade Tidegate"):
        kit.run(lake, "orders", listing=False)
    assert lake.lake.store.objects.get(lake.lake_bucket, key) == newer.encode()
    lake.clients.s3.put_object(Bucket=lake.lake_bucket, Key=key, Body=json.dumps(body))

    # The events of the restored files are duplicates, the waiting hint enters, and the decided batch is finished.
    for name in ("files", "orders", DECIDED):
        kit.run(lake, name, listing=True)
    kit.merge(lake, "orders")
    assert kit.bronze(lake, "files", "id") == FILES
    assert kit.bronze(lake, "orders", "id, at") == ORDERS
    assert kit.silver(lake, "orders", "id, at") == SILVER
    assert kit.bronze(lake, DECIDED, "id, v") == CELLS
    # The ledger has what the release before wrote.
    assert ("files/gone.parquet", "removed") in {(row["key"], row["status"]) for row in kit.ledger(lake, "files")}

    # New files follow.
    lake.put("orders/3.json", '{"id": 2, "at": 3}\n')
    lake.put("cells/3.csv", "id,v\n3,c\n")
    lake.intake()
    for name in ("orders", "cells"):
        kit.run(lake, name, listing=False)
    kit.merge(lake, "orders")
    assert kit.silver(lake, "orders", "id, at") == [(1, 2), (2, 3), (3, 1)]
    assert kit.bronze(lake, "cells", "id, v") == [*CELLS, (3, "c")]


def test_the_archive_is_small() -> None:
    assert NEWEST.stat().st_size < 300_000
