"""The sensor that measures the lake. It needs no run, so a full queue of runs does not delay it."""

from __future__ import annotations

import hashlib
import json
import time
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

import dagster as dg

from tidegate.assets.health.asset import report_health
from tidegate.assets.health.report import HealthReport, keeps_up, plotted_numbers
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import evaluation_event
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.sources.asset import dead_letters_of
from tidegate.assets.sources.dead_letter_checks import dead_letter_check_result
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.health.alarms import PERIOD
from tidegate.platform.core.health.measurement import Health, QueueHealth
from tidegate.resources.lake_resource import LakeResource, with_lake

Event = dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation

#: Pages, and queues, that get an event with their backlog in one tick, because Dagster stores each of these events. If
#: there are more, the others have their turn in the next ticks.
_MAX_REPORTED = 25


def health_events(shown: HealthReport, config: LakeConfig, cursor: str | None) -> tuple[list[Event], str]:
    """Return a tick's events and the next cursor. Pure.

    Each tick has an event of the lake. A table's page, and a queue, has an event as long as something waits for it, and
    a last one when nothing waits any more. A check is evaluated when its result changes. So a thousand idle tables or
    queues cost nothing.

    Args:
        shown: the measurement.
        cursor: which tables were behind, for which tables and in which queues something waited, and a digest of the
            names to which this belongs; the last page and queue with an event; since when each dead-letter queue has
            not been empty.
    """
    before = json.loads(cursor or "{}")
    health = shown.health
    tables = [spec.table_key.encode() for spec in config.tables]
    names, queues = LakeNames.from_config(config), [spec.name for spec in config.every_queue]
    digest = hashlib.sha256(json.dumps([[spec.name for spec in config.tables], queues]).encode()).hexdigest()[:16]
    known = before.get("names") == digest
    behind, waited = (_members(before.get(name) if known else None, tables) for name in ("behind", "waiting"))
    filled = _members(before.get("filled"), queues) if known else set(queues)
    pages = {spec.table_key.encode(): names.bronze_table(spec.name) for spec in config.tables}
    events: list[Event] = [
        dg.AssetMaterialization(names.lake_health, metadata=shown.metadata()),
        *(evaluation_event(result) for result in shown.checks(names.lake_health)),
    ]
    holding = {queue.name: queue for queue in health.queues if _holds(queue) or queue.name in filled}
    for name in (reported_queues := _next_in_turn(holding, before.get("queue", ""))):
        queue = holding[name]
        depth = {"messages_waiting": queue.waiting, "messages_in_flight": queue.in_flight}
        dead = {} if queue.dead is None else {"dead_letters": queue.dead}
        events.append(dg.AssetObservation(names.queue(name), metadata={**depth, **dead}))
    dead_letter_events, not_empty_since = _dead_letter_events(health, config, before.get("dead", {}))
    events += dead_letter_events
    configured = [table for table in health.tables if table.key in pages]
    waiting = {table.key: table for table in configured if table.files or table.key in waited}
    reported_pages = _next_in_turn(waiting, before.get("page", ""))
    events += [dg.AssetObservation(pages[key], metadata=plotted_numbers(waiting[key])) for key in reported_pages]
    changed = [table for table in configured if not known or table.behind != (table.key in behind)]
    events += [evaluation_event(keeps_up(table, pages[table.key])) for table in changed]
    after = {
        "names": digest,
        "behind": _mask({table.key for table in configured if table.behind}, tables),
        "waiting": _mask((waited - {*reported_pages}) | {key for key in reported_pages if waiting[key].files}, tables),
        "filled": _mask(
            (filled - {*reported_queues}) | {name for name in reported_queues if _holds(holding[name])}, queues
        ),
        "page": reported_pages[-1] if reported_pages else "",
        "queue": reported_queues[-1] if reported_queues else "",
        "dead": {**before.get("dead", {}), **not_empty_since},
    }
    return events, json.dumps(after)


def _dead_letter_events(
    health: Health, config: LakeConfig, since: Mapping[str, float]
) -> tuple[list[Event], dict[str, float]]:
    """Return the events of dead-letter queues, and since when each has not been empty (epoch seconds, 0: it is empty).

    Args:
        health: the measurement.
        since: these times of the last tick.
    """
    events: list[Event] = []
    now: dict[str, float] = {}
    names = LakeNames.from_config(config)
    measured = {queue.name: queue.dead for queue in health.queues}
    for name, source in dead_letters_of(config).items():
        dead = measured.get(source)
        if dead is None:
            continue
        now[name] = 0.0 if not dead else since.get(name) or health.at
        if dead or since.get(name, True):
            not_empty = now[name] and round(health.at - now[name])
            metadata = {"dead_letters": dead, "not_empty_seconds": not_empty}
            events.append(dg.AssetObservation(names.queue(name), metadata=metadata))
        if name not in since or bool(since[name]) != bool(dead):
            events.append(evaluation_event(dead_letter_check_result(names.queue(name), dead)))
    return events, now


def _holds(queue: QueueHealth) -> bool:
    return bool(queue.waiting or queue.in_flight or queue.dead)


def _next_in_turn(names: Collection[str], last: str) -> list[str]:
    """Return the next members after the last one that had its turn, and then from the start."""
    ordered = sorted(names)
    start = bisect_right(ordered, last)
    return [*ordered[start:], *ordered[:start]][:_MAX_REPORTED]


def _mask(members: Collection[str], of: Sequence[str]) -> str:
    """Return a set as the bits of a number. It has to be short, because Dagster stores the cursor of every tick."""
    return f"{sum(1 << place for place, name in enumerate(of) if name in members):x}"


def _members(mask: str | None, of: Sequence[str]) -> set[str]:
    number = int(mask or "0", 16)
    return {name for place, name in enumerate(of) if number >> place & 1}


def build_health_sensor(config: LakeConfig) -> dg.SensorDefinition:
    """Build the sensor that materializes `lake_health` and reports the backlog of queues and tables."""

    names = LakeNames.from_config(config)

    @dg.sensor(
        name=names.name("health"),
        minimum_interval_seconds=PERIOD,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Measures what waits for each table and in each queue: fills lake_health, evaluates the checks, "
        "publishes the metrics.",
    )
    @with_lake(names.resource)
    def health(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        shown = report_health(lake.open(), context.instance, time.time())
        events, cursor = health_events(shown, config, context.cursor)
        for line in shown.health.unknown:
            RunLog(context.log).warning(line)
        found = shown.health
        return dg.SensorResult(
            asset_events=events,
            cursor=cursor,
            skip_reason=dg.SkipReason(
                f"{len(found.behind)} of {len(found.tables)} tables are behind; {found.files} files wait for "
                f"{len(found.waiting)} tables; {found.dead} dead letters"
                + (f"; {len(found.routes_behind)} of {len(found.routes)} routes are behind" if found.routes else "")
            ),
        )

    return health
