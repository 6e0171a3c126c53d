"""Files that are moved after they are loaded: the whole way, with a file that is overwritten meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.lakes.seams import Died
from tidegate.platform.bronze import after_load as after
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.s3_address import S3Object
from tidegate.platform.operations.object_trace import trace
from tidegate.platform.operations.reset import reset_table
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
SALES = {"name": "sales", "prefix": "sales/in/", "format": "csv", "columns": {"id": "int"}}


def test_moved_files_are_reported_as_moved_and_one_that_is_overwritten_meanwhile_is_loaded_too(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = "s3://archive/sales/"
    lake = tidegate_lake([{**SALES, "after_load": {"move": folder}}])
    lake.clients.s3.create_bucket(Bucket="archive")
    prefix = "sales/in/"

    def keys_in(bucket: str) -> set[str]:
        return {item["Key"] for item in lake.clients.s3.list_objects_v2(Bucket=bucket).get("Contents", [])}

    for name in ("a", "b"):
        lake.put(f"{prefix}{name}.csv", "id\n1\n")
    lake.put(f"{prefix}partly.csv", "id\n2\nx\n")
    lake.put(f"{prefix}bad.csv", b"\xff\xfe\x00")

    # b is overwritten between its copy and its removal. The run dies after the removal of a.
    delete = after._delete

    def meanwhile(handles: Any, loaded: S3Object) -> bool:
        key = loaded.address.key
        if key.endswith("/b.csv"):
            lake.put(key, "id\n3\n")
        done = delete(handles, loaded)
        if key.endswith("/a.csv"):
            raise Died(key)
        return done

    lake.intake()
    with monkeypatch.context() as patch:
        patch.setattr(after, "_delete", meanwhile)
        with pytest.raises(Died):
            kit.run(lake, "sales", listing=False)
    lake.intake()
    kit.run(lake, "sales", listing=False)
    lake.intake()
    kit.run(lake, "sales", listing=False)
    assert kit.bronze(lake, "sales", "id") == [(1,), (1,), (2,), (3,)]
    assert keys_in(lake.bucket) == {f"{prefix}partly.csv", f"{prefix}bad.csv"}, "what is not loaded lies there"
    assert len(keys_in("archive")) == 3
    fate = kit.fate(lake, "sales")
    assert {key: fate[key][0] for key in ("a.csv", "partly.csv", "bad.csv")} == {
        "a.csv": "moved", "partly.csv": "committed", "bad.csv": "quarantined",
    }  # fmt: skip

    # Neither events nor a listing bring anything more.
    before = len(kit.bronze(lake, "sales", "id"))
    lake.intake()
    kit.run(lake, "sales")
    assert len(kit.bronze(lake, "sales", "id")) == before
    assert "removed" not in {row["status"] for row in kit.ledger(lake, "sales")}
    assert lake.lake.store.inbox.waiting_manifests() == []
    trail = trace(lake.lake, lake.bucket, f"{prefix}a.csv")
    assert trail.verdict == f"it was moved to {folder} once it was in bronze.sales"

    # The same bytes are a duplicate when they come again, and are moved too.
    lake.put(f"{prefix}a.csv", "id\n1\n")
    lake.intake()
    kit.run(lake, "sales", listing=False)
    assert len(kit.bronze(lake, "sales", "id")) == before
    assert f"{prefix}a.csv" not in keys_in(lake.bucket)

    with pytest.raises(DataError, match="after_load moved them to s3://archive/sales/: set it to `keep`, move them"):
        reset_table(lake.lake, lake.key("sales"), by="somebody")
    result = lake.materialize("bronze", "sales", from_inbox=True)
    assert result.success
    assert kit.metadata(result)["waits_for_after_load"] == 0
