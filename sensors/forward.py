"""The sensor that forwards events to the topics and queues of the routes."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import evaluation_event
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.routes.report import RouteState, route_state
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.wording import first_line
from tidegate.platform.routes.forwarder import Forwarder
from tidegate.platform.routes.lane import LaneResult
from tidegate.resources.lake_resource import LakeResource, with_lake

#: Seconds between two ticks, at least.
_EVERY = 5
#: Seconds between two materializations of a route, at least: Dagster stores each of them.
_REPORT_EVERY = 60.0
Event = dg.AssetMaterialization | dg.AssetCheckEvaluation


def forward_events(
    names: LakeNames, results: Sequence[LaneResult], states: Mapping[str, RouteState], cursor: str | None, now: float
) -> tuple[list[Event], str]:
    """Return a tick's events and the next cursor. Pure.

    A route is materialized with everything that was sent since its last materialization, at most once a minute. Its
    check is evaluated when its result changes.

    Args:
        states: what waits for each route.
        cursor: for each route: `sent` and `undeliverable` since its last materialization, the time of that (`at`, epoch
            seconds), and whether the route was `behind`.
        now: epoch seconds.
    """
    before: dict[str, Any] = json.loads(cursor or "{}")
    after: dict[str, Any] = {}
    events: list[Event] = []
    for name, state in states.items():
        known = before.get(name, {})
        own = [result for result in results if result.lane.route == name]
        sent = known.get("sent", 0) + sum(result.sent for result in own)
        undeliverable = known.get("undeliverable", 0) + sum(result.undeliverable for result in own)
        at = known.get("at", 0.0)
        if known.get("behind") != state.behind:
            events.append(evaluation_event(state.check(names.route(name))))
        if (sent or undeliverable) and now - at >= _REPORT_EVERY:
            events.append(dg.AssetMaterialization(names.route(name), metadata=state.metadata(sent, undeliverable)))
            sent, undeliverable, at = 0, 0, now
        after[name] = {"sent": sent, "undeliverable": undeliverable, "at": at, "behind": state.behind}
    return events, json.dumps(after)


def build_forward_sensor(config: LakeConfig) -> list[dg.SensorDefinition]:
    """Build the sensor if `lake.yaml` has routes."""
    if not config.routes:
        return []
    forwarder, names = Forwarder(), LakeNames.from_config(config)

    @dg.sensor(
        name=names.name("forward"),
        minimum_interval_seconds=_EVERY,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Sends the events that wait in the outbox to the topics and queues of the routes.",
    )
    @with_lake(names.resource)
    def forward(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        handles = lake.open()
        lanes = handles.store.outbox.lanes()
        results = forwarder.tick(handles, lanes)
        for result in results:
            if result.error:
                RunLog(context.log).warning(f"route {result.lane}: {first_line(result.error)}")
        now, errors = time.time(), forwarder.errors()
        states = {
            route.name: route_state(
                handles.store.outbox, route, now, [lane for lane in lanes if lane.route == route.name], errors
            )
            for route in config.routes
        }
        events, cursor = forward_events(names, results, states, context.cursor, now)
        sent = sum(result.sent for result in results)
        waiting = sum(state.messages for state in states.values())
        return dg.SensorResult(
            asset_events=events,
            cursor=cursor,
            skip_reason=dg.SkipReason(f"sent {sent} messages; {'at least ' * bool(waiting)}{waiting} wait"),
        )

    return [forward]
