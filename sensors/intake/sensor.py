"""The intake sensor: SQS messages become durable hints, and hints become runs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.runs.dead_runs import DeadRuns
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.wording import first_line
from tidegate.platform.intake.dealer import Dealer
from tidegate.platform.intake.fair_drain import QueueOrder
from tidegate.platform.intake.held_events import HeldEvents
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.tick import follow_processes, listen
from tidegate.platform.lake.lake import Lake
from tidegate.resources.lake_resource import LakeResource, with_lake
from tidegate.sensors.intake.run_requests import bronze_requests
from tidegate.sensors.intake.unrouted_report import evaluate_checks, log_lines

#: Objects that no manifest or gathered hints are in, as lines in a tick's log. `tidegate check` lists all of them.
_MAX_STRAYS = 10
#: Seconds that a tick may deal gathered hints and read the inbox. Together with the drain's, and what releases held
#: events, they stay below Dagster's limit for a tick.
INBOX_SECONDS = 12.0


def build_intake_sensor(config: LakeConfig, jobs: Sequence[Any]) -> dg.SensorDefinition:
    """Build the sensor that drains the queues, unless processes do, and requests bronze runs.

    Partitions and run requests follow from the inbox's listing, never from the messages of the tick. So a tick that
    timed out has not lost its writes, and the next tick continues from them. The cursor contains where the last tour of
    the inbox ended. A configured table has a partition before its first hint, so that a person can materialize it.
    `run_key` stays None because Dagster never runs a used key again, even after a failure.

    Args:
        jobs: of runs of one table, and of runs that several tables share.
    """
    order, held, dealer, names = QueueOrder(), HeldEvents(), Dealer(), LakeNames.from_config(config)
    dead = DeadRuns([job.name for job in jobs])
    queues = {spec.name: names.queue(spec.name) for spec in config.every_queue}

    @dg.sensor(
        name=names.name("intake"),
        jobs=jobs,
        minimum_interval_seconds=config.intake.every,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Drains SQS into the inbox, unless processes do, and requests runs of tables whose window is over.",
    )
    @with_lake(names.resource)
    def intake(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        handles, log = lake.open(), RunLog(context.log)
        _end_dead_runs(dead, context, log)
        before = json.loads(context.cursor or "{}")
        taken, entry = _take_in(handles, order, held, str(before.get("entry", "")))
        now = datetime.now(UTC).timestamp()
        until = time.monotonic() + INBOX_SECONDS  # Its own time: the inbox is read however long the queues took.
        taken.left += dealer.deal(handles, now)[:_MAX_STRAYS]
        due_tables, requests = bronze_requests(handles, context.instance, now, str(before.get("last", "")), until)
        wanted = {*due_tables.seen, *(spec.table_key.encode() for spec in config.tables)}
        unknown = sorted(wanted - names.known_tables(context.instance))
        summary = (
            f"{_describe_events(taken, handles.config)}; "
            f"{'' if due_tables.whole else 'at least '}{due_tables.hints} hints wait for {len(due_tables.seen)} tables"
        )
        log.info(summary)
        for line in log_lines(taken.unrouted):
            log.warning(line)
        for line in (*taken.left, *due_tables.strays[:_MAX_STRAYS]):
            log.error(line)
        today = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
        verdicts = evaluate_checks(context.cursor, today, queues, taken.unrouted)
        for name, error in taken.failures.items():
            log.error(f"queue {name} could not be drained: {error}")
            if not requests and not unknown and not verdicts.evaluations and due_tables.whole:
                # A tick without news fails, because people see that. A failed tick would drop all that is new, with the
                # cursor: the next tick, for which it is not new, fails.
                raise error
        return dg.SensorResult(
            asset_events=verdicts.evaluations,
            cursor=json.dumps({**json.loads(verdicts.cursor), "last": due_tables.last, "entry": entry}),
            run_requests=requests,
            dynamic_partitions_requests=[names.tables.build_add_request(unknown)] if unknown else [],
            skip_reason=None if requests else dg.SkipReason(summary),
        )

    return intake


def _take_in(lake: Lake, order: QueueOrder, held: HeldEvents, entry: str) -> tuple[IntakeResult, str]:
    """Drain the queues, or read what processes that drain them have taken in since a place in the intake log.

    Returns the next place, too.
    """
    if lake.config.intake.by == "sensor":
        taken = listen(lake, order=order, held=held)
        # What it has reported itself is not read again, should processes drain the queues from now on.
        return taken, lake.store.intake_log.place_of(datetime.now(UTC).timestamp())
    last, taken = follow_processes(lake, entry, held)
    return taken, last


def _describe_events(taken: IntakeResult, config: LakeConfig) -> str:
    without = sum(taken.counters.values())
    if config.intake.by == "sensor":
        return f"received {taken.received} events, {without} of them no table's"
    return f"processes drain the queues, and found {without} events of no table"


def _end_dead_runs(dead: DeadRuns, context: dg.SensorEvaluationContext, log: RunLog) -> None:
    """End dead runs, because they would keep their tables out of the requests of this tick."""
    origin = context.code_location_origin
    try:
        ended = dead.end(context.instance, origin.location_name if origin else None)
    except Exception as error:  # of a disk or of Dagster's storage: Dagster's timeouts end these runs too
        log.error(f"dead runs could not be looked for: {first_line(error)}")
        return
    for line in ended:
        log.warning(line)
