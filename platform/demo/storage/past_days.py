"""The days before the last one: their inventories are delivered, and enter the table one day after another."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console

from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.demo.progress import Stages
from tidegate.platform.demo.storage.commands import run_json_command
from tidegate.platform.demo.storage.company import CompanyBucket
from tidegate.platform.demo.storage.configurations import configure
from tidegate.platform.demo.storage.deliveries import TO, create_bucket, delivery, notify_of_signals_only, put_orders
from tidegate.platform.demo.storage.orphans import Deleted, delete_left_over, leave_files
from tidegate.platform.demo.storage.planted_buckets import ORDERS
from tidegate.platform.intake.tick import take_in
from tidegate.platform.inventory.growth import growth_of
from tidegate.platform.lake.lake import Lake
from tidegate.platform.local.stack import LocalStack

#: Keys of the tables.
INVENTORIES, ORDERS_TABLE = "tidegate-landing.inventory", "checkout-000.orders"
LAKE_INVENTORIES = "tidegate-landing.lake-inventory"
_UPLOADS = 4
#: Days between two readings of the table's history.
_HISTORY_EVERY = 12
#: Less than a second: a receive does not wait for further messages, because all of them are in the queue.
_NO_WAIT = 0.9


class PastDays:
    """Makes the deliveries while the platform starts, and then brings them in.

    The files of a day are uploaded while the table takes in those of the day before. What needs no last day happens in
    the background: the table's runs leave a core to others.

    Args:
        home: folder of the demo, with its lake.yaml.
        days: number of days before the last one.
    """

    def __init__(self, home: Path, buckets: Sequence[CompanyBucket], days: int) -> None:
        self._home, self._buckets, self._days = home, buckets, days
        self._pool = ThreadPoolExecutor(_UPLOADS + 1)
        self._made = [self._pool.submit(self._make, day) for day in range(days)]
        self._background = ThreadPoolExecutor(1)
        #: The table's version after each day.
        self.versions: dict[int, int] = {}
        #: What commands print and maintenance does in the meantime, by names.
        self.answers: dict[str, Future[Any]] = {
            "configured": self._background.submit(configure, home, buckets, TO),
        }

    def load_days(self, stack: LocalStack, console: Console) -> None:
        """Bring in the days, one after another."""
        try:
            self._load_days(stack, console)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Wait for what happens in the background. What has not begun is left out."""
        self._background.shutdown(cancel_futures=True)

    def _load_days(self, stack: LocalStack, console: Console) -> None:
        s3 = stack.clients().s3
        with stack.settings.open_lake() as lake, Stages(console).show_bars() as stages, self._pool:
            stage = stages.begin("The inventories of the days before", self._days)
            list(self._pool.map(lambda bucket: create_bucket(s3, bucket), self._buckets))
            notify_of_signals_only(s3)
            put_orders(s3, self._buckets[ORDERS].name)
            uploads = self._upload(s3, 0)
            for day in range(self._days):
                deliveries = self._made[day].result()
                for upload in uploads:
                    upload.result()
                for *_, (key, body) in deliveries:
                    s3.put_object(Bucket=TO, Key=key, Body=body)
                uploads = self._upload(s3, day + 1) if day + 1 < self._days else []
                self.versions[day] = ingest_day(lake)
                if day == 0:
                    self._begin_orders(stack, lake, s3)
                elif day % _HISTORY_EVERY == 0:
                    self.answers[f"history of day {day}"] = self._background.submit(_keep_history, stack)
                stage.show(f"day {day + 1}: {len(deliveries)} inventories", day + 1)
            number = sum(len(made.result()) for made in self._made)
            stage.finish(f"{number:,} inventories, a commit for each day")

    def _begin_orders(self, stack: LocalStack, lake: Lake, s3: Any) -> None:
        """Load the orders, and let maintenance and commands look at them in the background."""
        location = begin_orders(lake, s3)

        def maintain() -> Deleted:
            with stack.settings.open_lake() as own:
                return delete_left_over(own, location)

        self.answers["left_over"] = self._background.submit(maintain)
        for name, words in {"readers": ("catalog", "readers"), "table_cost": ("cost", "orders")}.items():
            self.answers[name] = self._background.submit(run_json_command, self._home, *words)

    def _make(self, day: int) -> list[list[tuple[str, bytes]]]:
        return [list(delivery(bucket, day)) for bucket in self._buckets if bucket.delivers(day)]

    def _upload(self, s3: Any, day: int) -> list[Future[None]]:
        """Upload everything of a day except the checksums, in the background."""

        def put(part: int) -> None:
            for *files, _ in self._made[day].result()[part::_UPLOADS]:
                for key, body in files:
                    s3.put_object(Bucket=TO, Key=key, Body=body)

        return [self._pool.submit(put, part) for part in range(_UPLOADS)]


def begin_orders(lake: Lake, s3: Any) -> str:
    """Load the orders, and leave files behind that an inventory of the lake's bucket has. Return where the table is."""
    run_table(lake.table(ORDERS_TABLE), RunOptions(run_id="history"))
    birth = lake.table(ORDERS_TABLE).birth
    assert birth is not None
    leave_files(lake, s3, birth.location, TO)
    _receive(lake)
    run_table(lake.table(LAKE_INVENTORIES), RunOptions(run_id="history"))
    return birth.location


def _receive(lake: Lake) -> None:
    """Take in all events that have arrived."""
    while sum(sum(queue.depth()) for queue in lake.queues):
        take_in(lake, seconds=_NO_WAIT)


def ingest_day(lake: Lake) -> int:
    """Bring in what has arrived, and return the version of the table afterwards."""
    _receive(lake)
    done = run_table(lake.table(INVENTORIES), RunOptions(run_id="history"))
    return done[-1].landed.version


def _keep_history(stack: LocalStack) -> None:
    """Read what the inventories so far had, as the asset of the growth does each morning, and keep it."""
    with stack.settings.open_lake() as lake:
        growth_of(lake, INVENTORIES, 1, keep=True)
