"""The intake sensor: SQS messages become durable hints, and hints become runs."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.assets.bronze.asset import BRONZE, TABLES, TRIGGER_TAG
from tidegate.platform.core.events import Reject, S3Event, parse_body
from tidegate.platform.core.lake import LakeConfig
from tidegate.platform.core.manifest import Hint, chunked
from tidegate.platform.core.routing import Routed, route
from tidegate.platform.core.table_key import TableKey
from tidegate.resources.lake import Lake
from tidegate.resources.lake_resource import LakeResource
from tidegate.resources.lake_root.inbox import Waiting
from tidegate.resources.queue import Message
from tidegate.sensors.runs import is_active, rest_seconds

BRONZE_JOB = dg.define_asset_job(
    "bronze_job",
    selection=dg.AssetSelection.assets(BRONZE),
    executor_def=dg.in_process_executor,
    description="Brings one bronze table up to date with its inbox.",
)

#: Objects in the inbox that are no manifests, as many as a tick's log names; `tidegate check` names all.
_MOST_STRAYS = 10


@dataclass
class Intake:
    """What one tick received.

    Attributes:
        hints: by table.
        counters: events that are no table's, by outcome.
        rows: the intake log's rows for them.
        received: events, tests included.
        failures: why a queue could not be drained, by its name.
    """

    hints: dict[TableKey, list[Hint]] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    received: int = 0
    failures: dict[str, Exception] = field(default_factory=dict)

    def count(self, outcome: str, by: int = 1) -> None:
        """Count events that end here."""
        self.counters[outcome] = self.counters.get(outcome, 0) + by


def sort_messages(messages: Sequence[Message], config: LakeConfig, known: set[TableKey]) -> Intake:
    """Parse messages and route their events; pure.

    Args:
        messages: as received.
        config: the lake.
        known: tables that exist; those discovered here are added to it.
    """
    intake = Intake()
    for message in messages:
        parsed = parse_body(message.body, message.id)
        intake.received += len(parsed.events) + parsed.tests + len(parsed.rejects)
        if parsed.tests:
            intake.count("test", parsed.tests)
        for reject in parsed.rejects:
            intake.count("malformed")
            intake.rejects.append(reject)
        for event in parsed.events:
            _sort_event(intake, event, config, known)
    return intake


def _sort_event(intake: Intake, event: S3Event, config: LakeConfig, known: set[TableKey]) -> None:
    found = route(event.bucket, event.key, config, known)
    if isinstance(found, Routed):
        known.add(found.table)
        intake.hints.setdefault(found.table, []).append(
            Hint(
                event.key,
                event.event_id,
                event.event_name,
                event.event_time.isoformat() if event.event_time else None,
                event.version_id,
                event.sequencer,
            )
        )
        return
    intake.count(found.outcome)
    intake.rows.append(
        {
            "event_id": event.event_id,
            "outcome": found.outcome,
            "reason": found.why,
            "bucket": event.bucket,
            "key": event.key,
        }
    )


def take_in(lake: Lake, *, seconds: float | None = None) -> Intake:
    """Drain the queues once: manifests and logs are written first, messages are deleted last.

    Each queue has an equal share of what is left of the budget, so that a busy one does not starve those after it.

    Args:
        lake: handles.
        seconds: time budget of the receives; the configuration's by default.
    """
    budget = lake.config.intake
    deadline = time.monotonic() + (seconds or budget.seconds)
    known = {TableKey.decode(text) for text in lake.store.table_keys()}
    total = Intake()
    for place, queue in enumerate(lake.queues):
        share = len(lake.queues) - place
        left = max(0.0, deadline - time.monotonic()) / share
        most = max(1, (budget.events - total.received) // share)
        try:
            messages = queue.drain(seconds=left, messages=most, threads=budget.threads)
        except (BotoCoreError, ClientError) as error:
            # What it has received comes back; the other queues need not wait for it.
            total.failures[queue.name] = error
            continue
        intake = sort_messages(messages, lake.config, known)
        _keep(lake, intake)
        queue.delete(messages)
        for table, hints in intake.hints.items():
            total.hints.setdefault(table, []).extend(hints)
        for outcome, number in intake.counters.items():
            total.count(outcome, number)
        total.received += intake.received
    return total


def _keep(lake: Lake, intake: Intake) -> None:
    caps = {table: (lake.config.table_for(table) or lake.config).max_files for table in intake.hints}
    lake.store.inbox.put(
        [
            manifest
            for table, hints in intake.hints.items()
            for manifest in chunked(table.encode(), "intake", hints, caps[table])
        ]
    )
    for reject in intake.rejects:
        address = lake.store.quarantine.keep_message(reject.event_id, reject.raw, reject.reason)
        intake.rows.append(
            {"event_id": reject.event_id, "outcome": "malformed", "reason": reject.reason, "detail": address}
        )
    if intake.counters:
        lake.store.intake_log.put(intake.counters, intake.rows)


def ready_tables(waiting: Sequence[Waiting], config: LakeConfig, now: float) -> list[str]:
    """Table keys whose oldest hint has waited for the window, or whose hints reach the cap; pure.

    Args:
        waiting: the inbox's listing.
        config: the lake.
        now: epoch seconds.
    """
    by_table: dict[str, list[Waiting]] = {}
    for one in waiting:
        by_table.setdefault(one.table, []).append(one)
    ready = []
    for text, manifests in sorted(by_table.items()):
        spec = config.table_for(TableKey.decode(text)) or config
        if (
            now - min(one.since for one in manifests) >= spec.window
            or sum(one.hints for one in manifests) >= spec.max_files
        ):
            ready.append(text)
    return ready


def _held_back(instance: dg.DagsterInstance, text: str, window: float, now: float) -> bool:
    """Whether the table has an active run, or failed so lately that it should rest."""
    tags = {"dagster/partition": text}
    return is_active(instance, tags=tags) or rest_seconds(instance, BRONZE_JOB.name, window, now, tags) > 0


def build_intake_sensor(config: LakeConfig) -> dg.SensorDefinition:
    """The sensor that drains the queues and asks for bronze runs.

    Partitions and run requests follow from the inbox's listing, never from the messages of the tick: a tick that timed
    out has done its writes, and the next one goes on from them. ``run_key`` stays None, for a used one is never run
    again, even after a failure.
    """

    @dg.sensor(
        name="intake",
        job=BRONZE_JOB,
        minimum_interval_seconds=config.intake.every,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Drains SQS into the lake's inbox and asks for a bronze run of every table whose window is over.",
    )
    def intake(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        handles = lake.open()
        taken = take_in(handles)
        now = datetime.now(UTC).timestamp()
        inbox = handles.store.inbox.contents()
        waiting = inbox.waiting
        keys = sorted({one.table for one in waiting})
        unknown = sorted(set(keys) - set(context.instance.get_dynamic_partitions(TABLES.name or "")))
        requests = []
        for text in ready_tables(waiting, config, now):
            spec = config.table_for(TableKey.decode(text)) or config
            if not _held_back(context.instance, text, spec.window, now):
                requests.append(dg.RunRequest(partition_key=text, tags={TRIGGER_TAG: "sensor"}))
        said = (
            f"received {taken.received} events, {sum(taken.counters.values())} of them no table's; "
            f"{sum(one.hints for one in waiting)} hints wait for {len(keys)} tables"
        )
        context.log.info(said)
        for stray in inbox.strays[:_MOST_STRAYS]:
            context.log.error(stray)
        for name, error in taken.failures.items():
            context.log.error(f"queue {name} could not be drained: {error}")
            if not requests:
                raise error  # A tick that has nothing else to say fails, where people look.
        return dg.SensorResult(
            run_requests=requests,
            dynamic_partitions_requests=[TABLES.build_add_request(unknown)] if unknown else [],
            skip_reason=None if requests else dg.SkipReason(said),
        )

    return intake
