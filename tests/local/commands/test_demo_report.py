"""The lateness of a table's newest file in the report of the demo."""

from __future__ import annotations

import time

import dagster as dg
import pytest

from tidegate.platform.demo.accounts import Newest
from tidegate.platform.demo.report import freshness

SILVER = dg.AssetKey(["silver", "flights"])


def materialize(instance: dg.DagsterInstance, **metadata: int) -> None:
    instance.report_runless_asset_event(dg.AssetMaterialization(SILVER, metadata=metadata))


@pytest.fixture
def newest() -> Newest:
    """Return a file of batch 2, with an event of half a minute ago, and recorded five seconds ago."""
    return Newest(2, time.time() - 30, time.time() - 5)


def test_bronze_is_as_fresh_as_its_ledger(newest: Newest) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        assert freshness(instance, newest, None) == pytest.approx(25, abs=0.5)
        assert freshness(instance, None, None) is None


def test_silver_is_as_fresh_as_the_merge_that_took_the_newest_batch(newest: Newest) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        materialize(instance, batch=1, oldest_event_age_seconds=300)
        materialize(instance, rows=0)  # found nothing to merge
        assert freshness(instance, newest, SILVER) is None
        merging = time.time()
        materialize(instance, batch=3, oldest_event_age_seconds=300)
        merged = time.time()
        time.sleep(0.2)
        materialize(instance, batch=4)
        found = freshness(instance, newest, SILVER)
        assert found is not None
        assert merging - newest.event_time <= found <= merged - newest.event_time
