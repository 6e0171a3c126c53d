"""The intake sensor: SQS messages become durable hints, and hints become runs."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.assets.bronze.asset import BRONZE, TABLES, TRIGGER_TAG
from tidegate.assets.sources import queue_name
from tidegate.platform.core.lake import LakeConfig
from tidegate.platform.core.manifest import chunked
from tidegate.platform.core.table_key import TableKey
from tidegate.resources.lake import Lake
from tidegate.resources.lake_resource import LakeResource
from tidegate.resources.lake_root.inbox import Waiting
from tidegate.sensors.arrivals import Intake, sort_by_what_is_there
from tidegate.sensors.misses import judge
from tidegate.sensors.runs import is_active, rest_seconds

BRONZE_JOB = dg.define_asset_job(
    "bronze_job",
    selection=dg.AssetSelection.assets(BRONZE),
    executor_def=dg.in_process_executor,
    description="Brings one bronze table up to date with its inbox.",
)

#: Lines of one kind in a tick's log: events that are no table's (the intake log has all), and objects in the inbox that
#: are no manifests (`tidegate check` names all).
_MOST_LINES = 10


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
        intake = sort_by_what_is_there(messages, lake.config, known, lake.store.objects)
        _keep(lake, queue.name, intake)
        queue.delete(messages)
        for table, hints in intake.hints.items():
            total.hints.setdefault(table, []).extend(hints)
        for outcome, number in intake.counters.items():
            total.count(outcome, number)
        total.rows += intake.rows
        total.received += intake.received
    return total


def _keep(lake: Lake, queue: str, intake: Intake) -> None:
    lake.store.inbox.put(
        [
            manifest
            for table, hints in intake.hints.items()
            for manifest in chunked(table.encode(), "intake", hints, lake.config.pace(table).max_files)
        ]
    )
    for reject in intake.rejects:
        address = lake.store.quarantine.keep_message(reject.event_id, reject.raw, reject.reason)
        intake.rows.append(
            {"event_id": reject.event_id, "outcome": "malformed", "reason": reject.reason, "detail": address}
        )
    for row in intake.rows:
        row["queue"] = queue
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
    for table_key, manifests in sorted(by_table.items()):
        pace = config.pace(TableKey.decode(table_key))
        if (
            now - min(one.since for one in manifests) >= pace.window
            or sum(one.hints for one in manifests) >= pace.max_files
        ):
            ready.append(table_key)
    return ready


def _held_back(instance: dg.DagsterInstance, table_key: str, window: float, now: float) -> bool:
    """Whether the table has an active run, or failed so lately that it should rest."""
    tags = {"dagster/partition": table_key}
    return is_active(instance, tags=tags) or rest_seconds(instance, BRONZE_JOB.name, window, now, tags) > 0


def build_intake_sensor(config: LakeConfig) -> dg.SensorDefinition:
    """The sensor that drains the queues and asks for bronze runs.

    Partitions and run requests follow from the inbox's listing, never from the messages of the tick: a tick that timed
    out has done its writes, and the next one goes on from them. Configured tables have a partition without any hint, so
    that they can be materialized by hand. ``run_key`` stays None, for a used one is never run again, even after a
    failure.
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
        wanted = {*keys, *(spec.table_key.encode() for spec in config.tables)}
        unknown = sorted(wanted - set(context.instance.get_dynamic_partitions(TABLES.name or "")))
        requests = []
        for table_key in ready_tables(waiting, config, now):
            window = config.pace(TableKey.decode(table_key)).window
            if not _held_back(context.instance, table_key, window, now):
                requests.append(dg.RunRequest(partition_key=table_key, tags={TRIGGER_TAG: "sensor"}))
        said = (
            f"received {taken.received} events, {sum(taken.counters.values())} of them no table's; "
            f"{sum(one.hints for one in waiting)} hints wait for {len(keys)} tables"
        )
        context.log.info(said)
        for row in [row for row in taken.rows if row["outcome"] != "own_file"][:_MOST_LINES]:
            what = f"s3://{row['bucket']}/{row['key']}" if "key" in row else row["detail"]
            context.log.warning(f"{row['outcome']}: {what}: {row['reason']}")
        for stray in inbox.strays[:_MOST_LINES]:
            context.log.error(stray)
        today = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
        judged = judge(context.cursor, today, [queue_name(one) for one in config.queues], taken.rows)
        for name, error in taken.failures.items():
            context.log.error(f"queue {name} could not be drained: {error}")
            if not requests and not judged.failed:
                raise error  # A tick that has nothing else to say fails, where people look.
        return dg.SensorResult(
            asset_events=judged.evaluations,
            cursor=judged.cursor,
            run_requests=requests,
            dynamic_partitions_requests=[TABLES.build_add_request(unknown)] if unknown else [],
            skip_reason=None if requests else dg.SkipReason(said),
        )

    return intake
