"""The measurement of a lake's health, without Spark and with few requests for any number of tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import dagster as dg
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.assets.health.history import missed_today, quarantined_counts
from tidegate.assets.keys import LakeNames
from tidegate.platform.core.completion.waiting_datasets import WaitingDatasets
from tidegate.platform.core.health.measurement import Health, QueueHealth, RouteHealth, TableHealth, urgency_sort_key
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.inbox import Backlog
from tidegate.platform.lake.lake_root.root import is_table_key
from tidegate.platform.lake.threads import ConcurrentCalls, parallel

#: Time limit for listing the inbox, and then for the answers of the queues. Dagster ends a tick after 60 seconds.
_MAX_SECONDS = 20.0
#: Time limit for the listings of the routes, which begin with the others, when those have ended.
_ROUTE_LISTING_SECONDS = 5.0
#: Queues that are asked in parallel. A queue that does not answer must not delay the others.
_QUEUES_IN_PARALLEL = 256
#: Routes whose outbox is listed at a time.
_ROUTES_IN_PARALLEL = 16
_DAY = 24 * 3600


def measure(
    lake: Lake, instance: dg.DagsterInstance, now: float, clock: Callable[[], float] = time.monotonic
) -> Health:
    """Measure inbox, births, outbox and queues, and read the results of the last runs and ticks from Dagster.

    S3 is asked for a listing of inbox and births, one page for a thousand objects and at most one page of a table's
    manifests. SQS is asked once for each queue and once for its dead-letter queue, in parallel, and the outbox of each
    route is listed. `unknown` lists everything that did not answer.

    Args:
        now: epoch seconds.
        clock: returns seconds, for the time limit.
    """
    unknown: list[str] = []
    names = LakeNames.from_config(lake.config)
    missed = missed_today(instance, names, [queue.name for queue in lake.queues], now)
    quarantined = quarantined_counts(instance, names, now - _DAY)
    asked = ConcurrentCalls(lambda queue: _queue(queue, missed.get(queue.name, {})), lake.queues, _QUEUES_IN_PARALLEL)
    listed = ConcurrentCalls(lambda route: _route(lake, route, now), _routes(lake), _ROUTES_IN_PARALLEL)
    waiting: dict[str, TableHealth] = {}
    until = clock() + _MAX_SECONDS
    for backlog in lake.store.walk_backlogs():
        if backlog.hints and is_table_key(backlog.folder):
            waiting[backlog.folder] = _table(lake, backlog.folder, now, backlog)
        if clock() > until:
            unknown.append(f"the inbox after {backlog.folder}: listing it takes more than {_MAX_SECONDS:.0f} seconds")
            break
    idle = {*lake.store.births.tables(), *(spec.table_key.encode() for spec in lake.config.tables)} - waiting.keys()
    tables = [*waiting.values(), *(_table(lake, table_key, now) for table_key in idle)]
    tables = _with_datasets(lake, tables, now, unknown)
    asked.wait(_MAX_SECONDS)
    queues = []
    for outcome in asked.outcomes():
        if outcome.value is None:
            why = first_line(outcome.error) if outcome.error else f"no answer within {_MAX_SECONDS:.0f} seconds"
            unknown.append(f"queue {outcome.item.name}: {why}")
        else:
            queues.append(outcome.value[0])
            unknown += outcome.value[1]
    listed.wait(_ROUTE_LISTING_SECONDS)
    routes = []
    for listing in listed.outcomes():
        routes.append(listing.value or RouteHealth(listing.item, limit=_max_lag(lake, listing.item)))
        if listing.value is None:
            why = first_line(listing.error) if listing.error else "listing its outbox takes too long"
            unknown.append(f"route {listing.item}: {why}")
    return Health(
        now,
        tuple(sorted(tables, key=lambda table: urgency_sort_key(table, quarantined))),
        tuple(queues),
        quarantined,
        tuple(unknown),
        tuple(sorted(routes, key=lambda route: (not route.behind, -route.lag, route.name))),
    )


def _routes(lake: Lake) -> Sequence[str]:
    """Return the names of the routes, and of former ones for which something waits."""
    if not lake.config.routes:
        return ()
    return tuple(dict.fromkeys([*(route.name for route in lake.config.routes), *lake.store.outbox.routes()]))


def _route(lake: Lake, name: str, now: float) -> RouteHealth:
    outbox = lake.store.outbox
    backlogs = outbox.backlogs(outbox.lanes_of(name)).values()
    return RouteHealth(
        name,
        sum(backlog.messages for backlog in backlogs),
        max((backlog.age(now) for backlog in backlogs), default=0.0),
        _max_lag(lake, name),
        outbox.undeliverable_count(name),
    )


def _max_lag(lake: Lake, name: str) -> int | None:
    route = lake.config.route(name)
    return route.max_lag if route else None


def _table(lake: Lake, table_key: str, now: float, backlog: Backlog | None = None) -> TableHealth:
    key = TableKey.decode(table_key)
    spec = lake.config.table_for(key)
    name, limit = spec.name if spec else table_key, lake.config.settings(key).lag_limit
    if backlog is None:
        return TableHealth(table_key, name, limit=limit)
    lag = max(0.0, now - backlog.oldest)
    return TableHealth(table_key, name, backlog.hints, backlog.size, lag, limit, backlog.whole)


def _with_datasets(lake: Lake, tables: Sequence[TableHealth], now: float, unknown: list[str]) -> list[TableHealth]:
    """Return the tables with what waited for completion signals after their last batches. Each costs a request."""
    keys = [spec.table_key.encode() for spec in lake.config.tables if spec.completion]

    def note(table_key: str) -> WaitingDatasets | str:
        try:
            return lake.store.waiting_notes.read(table_key) or WaitingDatasets()
        except (StoreError, ValueError, KeyError, TypeError) as error:
            return f"the waiting datasets of {table_key}: {first_line(error)}"

    notes = dict(zip(keys, parallel(note, keys), strict=True))
    unknown += [found for found in notes.values() if isinstance(found, str)]

    def with_note(table: TableHealth) -> TableHealth:
        found = notes.get(table.key)
        if not isinstance(found, WaitingDatasets):
            return table
        age = 0.0 if found.since is None else max(0.0, now - found.since)
        return replace(table, undecided=found.files + len(found.signals), undecided_age=age)

    return [with_note(table) for table in tables]


def _queue(queue: Queue, missed: dict[str, int]) -> tuple[QueueHealth, list[str]]:
    """Return the health of a queue, and a sentence if its dead-letter queue does not answer."""
    depths = queue.depths()
    dead, unknown = None, []
    if depths.dead_letters:
        try:
            dead = queue.sibling(depths.dead_letters).depths().waiting
        except (BotoCoreError, ClientError) as error:
            unknown.append(f"dead-letter queue {depths.dead_letters}: {first_line(error)}")
    return QueueHealth(queue.name, depths.waiting, depths.in_flight, dead, missed), unknown
