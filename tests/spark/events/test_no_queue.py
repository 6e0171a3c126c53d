"""A lake without a queue of events: S3 itself is the queue, and listings find what is in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dagster as dg

from tidegate.assets.runs.tags import RECONCILE, TRIGGER_TAG
from tidegate.platform.testing import TestLake
from tidegate.sensors.reconcile import reconcile_requests

COLUMNS = {"id": "int"}


def test_listings_alone_put_every_file_into_its_table_once(tidegate_lake: Callable[..., TestLake], kit: Any) -> None:
    lake = tidegate_lake(
        [{"name": "orders", "prefix": "orders/", "format": "json", "columns": COLUMNS}],
        queues=[],
        reconcile_interval=60,
    )
    assert lake.clients.s3.get_bucket_notification_configuration(Bucket=lake.bucket).keys() == {"ResponseMetadata"}

    def listed() -> list[Any]:
        lake.materialize("bronze", "orders", tags={TRIGGER_TAG: RECONCILE})
        return sorted(kit.bronze(lake, "orders", "id"))

    lake.put("orders/a.json", kit.lines({"id": 1}, {"id": 2}))
    lake.put("orders/b.json", kit.lines({"id": 3}))
    assert lake.intake().received == 0, "a tick of the intake sensor has nothing to drain"
    assert listed() == [(1,), (2,), (3,)]
    assert listed() == [(1,), (2,), (3,)], "the next listing finds the same objects"
    lake.put("orders/c.json", kit.lines({"id": 4}))
    assert listed() == [(1,), (2,), (3,), (4,)]

    with dg.DagsterInstance.ephemeral() as instance:
        _, requests = reconcile_requests(instance, lake.config, {lake.key("orders"): 0}, 120.0)
    assert [request.partition_key for request in requests] == [lake.key("orders")]
