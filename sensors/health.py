"""The sensor that measures the lake: no run is needed, so a full queue of runs does not keep it from telling."""

from __future__ import annotations

import hashlib
import json
import time
from bisect import bisect_right
from collections.abc import Collection, Sequence

import dagster as dg

from tidegate.assets.bronze.report import page_key
from tidegate.assets.health.asset import LAKE_HEALTH, report_health
from tidegate.assets.health.report import HealthReport, keeps_up, numbers
from tidegate.assets.presentation.check_events import as_event
from tidegate.assets.sources.asset import dead_letters_of, queue_key
from tidegate.assets.sources.dead_letter_checks import dead_letter_check_result
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.health.alarms import PERIOD
from tidegate.platform.core.health.measurement import QueueHealth
from tidegate.resources.lake_resource import LakeResource

Told = Sequence[dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation]

#: Pages, and queues, that are told in one tick what waits for them: Dagster keeps each of these events. Of more, each
#: has its turn in the ticks that follow.
_MAX_TOLD = 25


def tell(shown: HealthReport, config: LakeConfig, cursor: str | None) -> tuple[Told, str]:
    """What a tick says, and the next cursor; pure.

    The lake is told of each time. A table's page, and a queue, is told of what waits, as long as something does and
    once more; a check is evaluated when its result changes. So a thousand idle tables or queues cost nothing.

    Args:
        shown: the measurement.
        config: the lake.
        cursor: which tables were behind, and for which of them and in which queues something waited, and whether all of
            that is known; who was told last; since when each dead-letter queue was seen not to be empty.
    """
    before = json.loads(cursor or "{}")
    health = shown.health
    tables = [spec.table_key.encode() for spec in config.tables]
    names = [spec.name for spec in config.every_queue]
    digest = hashlib.sha256(json.dumps([[spec.name for spec in config.tables], names]).encode()).hexdigest()[:16]
    known = before.get("names") == digest
    behind, waited = (_members(before.get(name) if known else None, tables) for name in ("behind", "waiting"))
    filled = _members(before.get("filled"), names) if known else set(names)
    pages = {spec.table_key.encode(): page_key(spec) for spec in config.tables}
    said: list[dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation] = [
        dg.AssetMaterialization(LAKE_HEALTH, metadata=shown.metadata()),
        *(as_event(result) for result in shown.checks(LAKE_HEALTH)),
    ]
    holding = {queue.name: queue for queue in health.queues if _holds(queue) or queue.name in filled}
    for name in (told_queues := _in_turn(holding, before.get("queue", ""))):
        queue = holding[name]
        depth = {"messages_waiting": queue.waiting, "messages_in_flight": queue.in_flight}
        dead = {} if queue.dead is None else {"dead_letters": queue.dead}
        said.append(dg.AssetObservation(queue_key(name), metadata={**depth, **dead}))
    since = {}
    for name, source in dead_letters_of(config).items():
        known_dead = before.get("dead", {})
        for queue in health.queues:
            if queue.name != source or queue.dead is None:
                continue
            since[name] = 0.0 if not queue.dead else known_dead.get(name) or health.at
            if queue.dead or known_dead.get(name, True):
                not_empty = since[name] and round(health.at - since[name])
                metadata = {"dead_letters": queue.dead, "not_empty_seconds": not_empty}
                said.append(dg.AssetObservation(queue_key(name), metadata=metadata))
            if name not in known_dead or bool(known_dead[name]) != bool(queue.dead):
                said.append(as_event(dead_letter_check_result(name, queue.dead)))
    configured = [one for one in health.tables if one.key in pages]
    waiting = {one.key: one for one in configured if one.files or one.key in waited}
    told_pages = _in_turn(waiting, before.get("page", ""))
    said += [dg.AssetObservation(pages[key], metadata=numbers(waiting[key])) for key in told_pages]
    changed = [one for one in configured if not known or one.behind != (one.key in behind)]
    said += [as_event(keeps_up(one, pages[one.key])) for one in changed]
    after = {
        "names": digest,
        "behind": _mask({one.key for one in configured if one.behind}, tables),
        "waiting": _mask((waited - {*told_pages}) | {key for key in told_pages if waiting[key].files}, tables),
        "filled": _mask((filled - {*told_queues}) | {name for name in told_queues if _holds(holding[name])}, names),
        "page": told_pages[-1] if told_pages else "",
        "queue": told_queues[-1] if told_queues else "",
        "dead": {**before.get("dead", {}), **since},
    }
    return said, json.dumps(after)


def _holds(queue: QueueHealth) -> bool:
    return bool(queue.waiting or queue.in_flight or queue.dead)


def _in_turn(those: Collection[str], last: str) -> list[str]:
    """The next of them behind the one that was told last, and around."""
    ordered = sorted(those)
    start = bisect_right(ordered, last)
    return [*ordered[start:], *ordered[:start]][:_MAX_TOLD]


def _mask(members: Collection[str], of: Sequence[str]) -> str:
    """Which of them are members, as a number: Dagster keeps the cursor of every tick."""
    return f"{sum(1 << place for place, one in enumerate(of) if one in members):x}"


def _members(mask: str | None, of: Sequence[str]) -> set[str]:
    number = int(mask or "0", 16)
    return {one for place, one in enumerate(of) if number >> place & 1}


def build_health_sensor(config: LakeConfig) -> dg.SensorDefinition:
    """The sensor that materializes ``lake_health`` and tells queues and tables what waits in them."""

    @dg.sensor(
        name="health",
        minimum_interval_seconds=PERIOD,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Measures what waits for each table and in each queue: fills lake_health, evaluates the checks, "
        "publishes the metrics.",
    )
    def health(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        shown = report_health(lake.open(), context.instance, time.time())
        said, cursor = tell(shown, config, context.cursor)
        for line in shown.health.unknown:
            context.log.warning(line)
        found = shown.health
        return dg.SensorResult(
            asset_events=said,
            cursor=cursor,
            skip_reason=dg.SkipReason(
                f"{len(found.behind)} of {len(found.tables)} tables are behind; {found.files} files wait for "
                f"{len(found.waiting)} tables; {found.dead} dead letters"
            ),
        )

    return health
