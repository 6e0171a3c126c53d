"""The sensor that measures the lake: no run is needed, so a full queue of runs does not keep it from telling."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence

import dagster as dg

from tidegate.assets import dead_letter_checks
from tidegate.assets.bronze.shown import page_key
from tidegate.assets.check_events import as_event
from tidegate.assets.health.asset import LAKE_HEALTH, look
from tidegate.assets.health.shown import Shown, keeps_up, numbers
from tidegate.assets.sources import dead_letters_of, queue_key
from tidegate.platform.core.alarms import PERIOD
from tidegate.platform.core.lake import LakeConfig
from tidegate.resources.lake_resource import LakeResource

Told = Sequence[dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation]

#: Tables whose pages are told what waits for them, in one tick.
_MOST_PAGES = 100


def tell(shown: Shown, config: LakeConfig, cursor: str | None) -> tuple[Told, str]:
    """What a tick says, and the next cursor; pure.

    The lake and its queues are told of each time. A table's page is told of what waits, as long as something does and
    once more; its check is evaluated when its result changes, so that a thousand idle tables cost nothing.

    Args:
        shown: the measurement.
        config: the lake.
        cursor: which tables were behind or waited before, and which tables have been judged at all; since when each
            dead-letter queue was seen not to be empty.
    """
    before = json.loads(cursor or "{}")
    names = hashlib.sha256(json.dumps([spec.name for spec in config.tables]).encode()).hexdigest()[:16]
    known = before.get("names") == names
    behind, waited = set(before.get("behind", [])), set(before.get("waiting", []))
    pages = {spec.table_key.encode(): page_key(spec) for spec in config.tables}
    health = shown.health
    said: list[dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation] = [
        dg.AssetMaterialization(LAKE_HEALTH, metadata=shown.metadata()),
        *(as_event(result) for result in shown.checks(LAKE_HEALTH)),
    ]
    for queue in health.queues:
        depth = {"messages_waiting": queue.waiting, "messages_in_flight": queue.in_flight}
        dead = {} if queue.dead is None else {"dead_letters": queue.dead}
        said.append(dg.AssetObservation(queue_key(queue.name), metadata={**depth, **dead}))
    since = {}
    for name, source in dead_letters_of(config).items():
        known_dead = before.get("dead", {})
        for queue in health.queues:
            if queue.name != source or queue.dead is None:
                continue
            since[name] = 0.0 if not queue.dead else known_dead.get(name) or health.at
            metadata = {"dead_letters": queue.dead, "not_empty_seconds": since[name] and round(health.at - since[name])}
            said.append(dg.AssetObservation(queue_key(name), metadata=metadata))
            if name not in known_dead or bool(known_dead[name]) != bool(queue.dead):
                said.append(as_event(dead_letter_checks.result(name, queue.dead)))
    configured = [one for one in health.tables if one.key in pages]
    observed = [one for one in configured if one.files or one.key in waited][:_MOST_PAGES]
    said += [dg.AssetObservation(pages[one.key], metadata=numbers(one)) for one in observed]
    changed = [one for one in configured if not known or one.behind != (one.key in behind)]
    said += [as_event(keeps_up(one, pages[one.key])) for one in changed]
    after = {
        "names": names,
        "behind": [one.key for one in configured if one.behind],
        "waiting": [one.key for one in observed if one.files],
        "dead": {**before.get("dead", {}), **since},
    }
    return said, json.dumps(after)


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
        shown = look(lake.open(), context.instance, time.time())
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
