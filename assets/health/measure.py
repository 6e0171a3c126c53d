"""Measuring a lake's health: in a few requests, however many tables there are, and without Spark."""

from __future__ import annotations

import time
from collections.abc import Callable

import dagster as dg
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.assets.health.remembered import missed_today, quarantined_since
from tidegate.platform.core.first_line import first_line
from tidegate.platform.core.health.measurement import Health, QueueHealth, TableHealth, by_urgency
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.resources.aws.sqs import Queue
from tidegate.resources.lake import Lake
from tidegate.resources.lake_root.inbox import Backlog
from tidegate.resources.lake_root.root import is_table_key
from tidegate.resources.side_by_side import SideBySide

#: Seconds that listing the inbox may take, and then the answers of the queues. Dagster gives a tick up after 60.
_SECONDS = 20.0
#: Queues that are asked at a time: those that do not answer keep none of the others from being asked.
_AT_ONCE = 256
_DAY = 24 * 3600


def measure(
    lake: Lake, instance: dg.DagsterInstance, now: float, clock: Callable[[], float] = time.monotonic
) -> Health:
    """Look at inbox, births and queues once, and at what the last runs and ticks said.

    Of S3 that is a listing of each, a page for a thousand objects; of a table with thousands of manifests one page. Of
    SQS it is a call for each queue and one for its dead-letter queue, side by side. What does not answer is named in
    ``unknown``.

    Args:
        lake: handles.
        instance: Dagster's instance.
        now: epoch seconds.
        clock: seconds, for the time budget.
    """
    unknown: list[str] = []
    missed = missed_today(instance, [queue.name for queue in lake.queues], now)
    quarantined = quarantined_since(instance, now - _DAY)
    asked = SideBySide(lambda queue: _queue(queue, missed.get(queue.name, {})), lake.queues, _AT_ONCE)
    found: dict[str, TableHealth] = {}
    until = clock() + _SECONDS
    for backlog in lake.store.inbox.tour():
        if backlog.hints and is_table_key(backlog.folder):
            found[backlog.folder] = _table(lake, backlog.folder, now, backlog)
        if clock() > until:
            unknown.append(f"the inbox beyond {backlog.folder}: listing it takes more than {_SECONDS:.0f} seconds")
            break
    idle = {*lake.store.births.tables(), *(spec.table_key.encode() for spec in lake.config.tables)} - found.keys()
    tables = [*found.values(), *(_table(lake, text, now) for text in idle)]
    asked.wait(_SECONDS)
    queues = []
    for one in asked.outcomes():
        if one.value is None:
            why = first_line(one.error) if one.error else f"it has not answered within {_SECONDS:.0f} seconds"
            unknown.append(f"queue {one.item.name}: {why}")
        else:
            queues.append(one.value[0])
            unknown += one.value[1]
    return Health(
        now,
        tuple(sorted(tables, key=lambda one: by_urgency(one, quarantined))),
        tuple(queues),
        quarantined,
        tuple(unknown),
    )


def _table(lake: Lake, text: str, now: float, backlog: Backlog | None = None) -> TableHealth:
    key = TableKey.decode(text)
    spec = lake.config.table_for(key)
    name, limit = spec.name if spec else text, lake.config.most_lag(key)
    if backlog is None:
        return TableHealth(text, name, limit=limit)
    return TableHealth(text, name, backlog.hints, backlog.size, max(0.0, now - backlog.oldest), limit, backlog.whole)


def _queue(queue: Queue, missed: dict[str, int]) -> tuple[QueueHealth, list[str]]:
    """A queue, and a sentence if its dead-letter queue does not say how much it holds."""
    depths = queue.depths()
    dead, unknown = None, []
    if depths.dead_letters:
        try:
            dead = queue.beside(depths.dead_letters).depths().waiting
        except (BotoCoreError, ClientError) as error:
            unknown.append(f"dead-letter queue {depths.dead_letters}: {first_line(error)}")
    return QueueHealth(queue.name, depths.waiting, depths.in_flight, dead, missed), unknown
