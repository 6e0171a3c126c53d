"""S3 refuses a key for a while: what entered bronze before stays, and does not enter a second time after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidegate.platform.core.manifest import Hint, Manifest
from tidegate.platform.core.planning import Forbidden
from tidegate.platform.testing import TestLake
from tidegate.resources.object_store import ObjectStore


def test_a_refused_look_changes_no_state(
    tidegate_lake: Callable[..., TestLake], kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([{"name": "loaded", "prefix": "loaded/"}, {"name": "registered", "prefix": "registered/"}])
    keys = {"loaded": "loaded/a.json", "registered": "registered/a.parquet"}
    lake.put(keys["loaded"], kit.lines({"id": 1}, {"id": 2}))
    lake.put(keys["registered"], kit.parquet([{"id": 1}, {"id": 2}]))

    def told() -> None:
        """An event of each key, in the inbox."""
        for table, key in keys.items():
            hints = [Hint(key, "message#0", "ObjectCreated:Put")]
            lake.lake.store.inbox.put([Manifest.new(lake.key(table), "intake", hints)])

    for refused in (False, True, False):
        told()
        with monkeypatch.context() as patch:
            if refused:
                patch.setattr(ObjectStore, "head", lambda *_: Forbidden("An error occurred (403)"))
            for table in keys:
                (done,) = kit.run(lake, table, listing=False)
                assert done.landed.outcome == "committed"

    for table in keys:
        assert [row["status"] for row in kit.ledger(lake, table)] == ["committed", "quarantined", "duplicate"]
        assert kit.bronze(lake, table, "id") == [(1,), (2,)]
