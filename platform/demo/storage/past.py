"""The days before the last one: their inventories are delivered, and enter the table one day after another."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from rich.console import Console

from tidegate.assets.bronze.run import run_table
from tidegate.assets.runs.options import RunOptions
from tidegate.platform.demo.progress import Stages
from tidegate.platform.demo.storage.company import CompanyBucket
from tidegate.platform.demo.storage.deliveries import delivery
from tidegate.platform.demo.storage.planted import ORDERS, loaded_orders, lost_orders, order_body, young_order
from tidegate.platform.local.stack import LocalStack
from tidegate.resources.lake import Lake
from tidegate.sensors.intake.tick import take_in

#: Bucket of the inventories, and the keys of the tables.
TO, INVENTORIES, ORDERS_TABLE = "tidegate-landing", "tidegate-landing.inventory", "checkout-000.orders"
_UPLOADS = 4
_SIGNAL = "manifest.checksum"


class Past:
    """Makes the deliveries while the platform starts, and then brings them in.

    The files of a day are uploaded while the table takes in those of the day before.

    Args:
        buckets: of the company.
        days: number of days before the last one.
    """

    def __init__(self, buckets: Sequence[CompanyBucket], days: int) -> None:
        self._buckets, self._days = buckets, days
        self._pool = ThreadPoolExecutor(_UPLOADS + 1)
        self._made = [self._pool.submit(self._make, day) for day in range(days)]
        #: The table's version after each day.
        self.versions: dict[int, int] = {}

    def bring_in(self, stack: LocalStack, console: Console) -> None:
        """Bring in the days, one after another."""
        s3 = stack.clients().s3
        with stack.settings.opened() as lake, Stages(console).shown() as stages, self._pool:
            stage = stages.begin("The inventories of the days before", self._days)
            list(self._pool.map(lambda bucket: _create(s3, bucket), self._buckets))
            _only_signals(s3)
            _put_orders(s3, self._buckets[ORDERS].name)
            uploads = self._upload(s3, 0)
            for day in range(self._days):
                deliveries = self._made[day].result()
                for upload in uploads:
                    upload.result()
                for *_, (key, body) in deliveries:
                    s3.put_object(Bucket=TO, Key=key, Body=body)
                uploads = self._upload(s3, day + 1) if day + 1 < self._days else []
                self.versions[day] = _take(lake)
                stage.show(f"day {day + 1}: {len(deliveries)} inventories", day + 1)
            run_table(lake.table(ORDERS_TABLE), RunOptions(run_id="history"))
            number = sum(len(made.result()) for made in self._made)
            stage.done(f"{number:,} inventories, a commit for each day")

    def _make(self, day: int) -> list[list[tuple[str, bytes]]]:
        return [list(delivery(bucket, day)) for bucket in self._buckets if bucket.delivers(day)]

    def _upload(self, s3: Any, day: int) -> list[Future[None]]:
        """Upload everything of a day except the checksums, in the background."""

        def put(part: int) -> None:
            for *files, _ in self._made[day].result()[part::_UPLOADS]:
                for key, body in files:
                    s3.put_object(Bucket=TO, Key=key, Body=body)

        return [self._pool.submit(put, part) for part in range(_UPLOADS)]


def _take(lake: Lake) -> int:
    """Take in what has arrived, and return the version of the table afterwards."""
    while sum(sum(queue.depth()) for queue in lake.queues):
        take_in(lake)
    done = run_table(lake.table(INVENTORIES), RunOptions(run_id="history"))
    return done[-1].landed.version


def _create(s3: Any, bucket: CompanyBucket) -> None:
    """Create a bucket. It stays empty: what it has is known from its inventories."""
    s3.create_bucket(Bucket=bucket.name)
    if bucket.aborts_uploads:
        abort = {"DaysAfterInitiation": 7}
        rule = {"ID": "uploads", "Status": "Enabled", "Filter": {"Prefix": ""}, "AbortIncompleteMultipartUpload": abort}
        s3.put_bucket_lifecycle_configuration(Bucket=bucket.name, LifecycleConfiguration={"Rules": [rule]})


def _only_signals(s3: Any) -> None:
    """Let S3 send the events of `manifest.checksum` only, as the guide of inventories says."""
    found = s3.get_bucket_notification_configuration(Bucket=TO)
    queues = [
        {**queue, "Filter": {"Key": {"FilterRules": [{"Name": "suffix", "Value": _SIGNAL}]}}}
        for queue in found["QueueConfigurations"]
    ]
    s3.put_bucket_notification_configuration(Bucket=TO, NotificationConfiguration={"QueueConfigurations": queues})


def _put_orders(s3: Any, bucket: str) -> None:
    """Put files of orders. While the bucket has no notifications, events are lost."""
    for key in loaded_orders():
        s3.put_object(Bucket=bucket, Key=key, Body=order_body(key))
    found = s3.get_bucket_notification_configuration(Bucket=bucket)
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={})
    for key in (*lost_orders(), young_order()):
        s3.put_object(Bucket=bucket, Key=key, Body=order_body(key))
    again = {"QueueConfigurations": found["QueueConfigurations"]}
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=again)
