"""S3 refuses a key for a while. Rows that were in bronze before stay, and do not enter a second time afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.bronze.object_state import S3Forbidden
from tidegate.platform.lake.aws.s3 import NotWritable, ObjectStore, StoreError
from tidegate.platform.testing import TestLake


def test_a_refused_look_changes_no_state(
    tidegate_lake: Callable[..., TestLake], kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([{"name": "loaded", "prefix": "loaded/"}, {"name": "registered", "prefix": "registered/"}])
    keys = {"loaded": "loaded/a.json", "registered": "registered/a.parquet"}
    lake.put(keys["loaded"], kit.lines({"id": 1}, {"id": 2}))
    lake.put(keys["registered"], kit.parquet([{"id": 1}, {"id": 2}]))

    for table in keys:
        lake.put(f"{table}/_SUCCESS", "")  # S3 gives another object of the prefix

    def announce() -> None:
        """Put an event of each key into the inbox."""
        for table, key in keys.items():
            hints = [Hint(key, Event("message#0"))]
            lake.lake.store.inbox.put([Manifest.create(lake.key(table), "intake", hints)])

    with monkeypatch.context() as patch:
        # S3 denies everything: no file is at fault, and the hints wait.
        patch.setattr(ObjectStore, "head_with_tail", lambda *_: (S3Forbidden("An error occurred (403)"), b""))
        patch.setattr(ObjectStore, "head_with_body", lambda *_: (S3Forbidden("An error occurred (403)"), None))
        announce()
        for table in keys:
            with pytest.raises(StoreError, match="S3 denies access to all 1 objects"):
                kit.run(lake, table, listing=False)

    for attempt, refused in enumerate((False, True, False)):
        if attempt:
            announce()
        with monkeypatch.context() as patch:
            if refused:
                patch.setattr(ObjectStore, "head", lambda *_: S3Forbidden("An error occurred (403)"))
            for table in keys:
                (done,) = kit.run(lake, table, listing=False)
                assert done.landed.outcome == "committed"

    for table in keys:
        assert [row["status"] for row in kit.ledger(lake, table)] == ["committed", "quarantined", "duplicate"]
        assert kit.bronze(lake, table, "id") == [(1,), (2,)]


def test_a_copy_that_may_not_be_written_holds_up_no_other_file_and_is_not_a_file_s_fault(
    tidegate_lake: Callable[..., TestLake], kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role may not write below `_tidegate/`.

    The run fails, so that somebody notices. The waiting file enters once the role has the permission.
    """
    lake = tidegate_lake([{"name": "registered", "prefix": "registered/"}])
    nanoseconds = pa.table({"id": [2], "at": pa.array([2_000], pa.timestamp("ns"))})
    lake.put("registered/good.parquet", kit.parquet(pa.table({"id": [1], "at": pa.array([1], pa.timestamp("us"))})))
    lake.put("registered/pandas.parquet", kit.parquet(nanoseconds))
    with monkeypatch.context() as patch:

        def denied(_: ObjectStore, bucket: str, key: str, *__: Any) -> None:
            raise NotWritable(f"s3://{bucket}/{key} cannot be written")

        patch.setattr(ObjectStore, "upload", denied)
        for _ in range(2):
            with pytest.raises(NotWritable, match=r"/registered/_tidegate/copies/pandas\.parquet/.* cannot be written"):
                kit.run(lake, "registered")
            assert kit.bronze(lake, "registered", "id") == [(1,)]
            assert kit.fate(lake, "registered") == {"good.parquet": ("committed", "")}
    kit.run(lake, "registered", listing=False)
    assert kit.bronze(lake, "registered", "id") == [(1,), (2,)]
    assert [row["status"] for row in kit.ledger(lake, "registered")] == ["committed", "committed"]
