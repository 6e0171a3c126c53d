"""The intake sensor: SQS messages become durable hints, and hints become runs."""

import json
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.assets.bronze.asset import BRONZE, TABLES, TRIGGER_TAG
from tidegate.assets.held_tables import SHARED_JOB, shared_config
from tidegate.platform.core.events import Reject
from tidegate.platform.core.lake import LakeConfig
from tidegate.platform.core.manifest import chunked
from tidegate.platform.core.table_key import TableKey
from tidegate.resources.lake import Lake
from tidegate.resources.lake_resource import LakeResource
from tidegate.resources.lake_root.root import is_table_key
from tidegate.resources.object_store import parallel
from tidegate.resources.queue import Message, Queue
from tidegate.sensors.arrivals import Intake, discovered, sort_by_what_is_there
from tidegate.sensors.misses import judge, told
from tidegate.sensors.row_arrivals import rows_as_objects
from tidegate.sensors.runs import FAILURES_TAG, TableRuns, table_runs
from tidegate.sensors.sharing import share
from tidegate.sensors.turns import MOST_RUNS, Turns, take_turns

BRONZE_JOB = dg.define_asset_job(
    "bronze_job",
    selection=dg.AssetSelection.assets(BRONZE),
    executor_def=dg.in_process_executor,
    description="Brings one bronze table up to date with its inbox.",
)

#: Objects in the inbox that are no manifests, as lines of a tick's log; `tidegate check` names all.
_MOST_STRAYS = 10
#: The part of a tick's time that its receives may take: what they brought is worked off, and the inbox read, after it.
_RECEIVING = 0.75
#: Seconds that a tick of the sensor waits for a message. Dagster's daemon begins a tick five seconds after the one
#: before at the earliest: what comes in the time between waits for it.
_PATIENCE = 4.0
#: Seconds after which Dagster gives a tick up; what it has received is then no longer kept from others.
_TICK = 60.0
_DAY = 24 * 3600


def take_in(
    lake: Lake, *, seconds: float | None = None, queues: Sequence[Queue] | None = None, patience: int = 1
) -> Intake:
    """Drain queues once: manifests and logs are written first, messages are deleted last.

    While some messages are written and deleted, the next ones are received. Each queue has an equal share of what is
    left of the budget, so that a busy one does not starve those after it. What was received stays hidden from others
    until it is deleted, also where writing takes longer than the queue's visibility timeout.

    Args:
        lake: handles.
        seconds: time budget of the receives; a part of the configuration's by default.
        queues: those to drain; the lake's own by default.
        patience: seconds to wait for the first message, shared out among the queues; each gets one at least.
    """
    budget, queues = lake.config.intake, lake.queues if queues is None else queues
    began = time.monotonic()
    deadline = began + (seconds or budget.seconds * _RECEIVING)
    known: set[TableKey] | None = None
    room, total = 0, Intake()
    for place, queue in enumerate(queues):
        share, now = len(queues) - place, time.monotonic()
        left = max(0.0, deadline - now) / share
        most = max(1, (budget.events - total.received) // share)
        with closing(
            _received(
                queue,
                total.failures,
                seconds=left,
                messages=most,
                threads=budget.threads,
                patience=max(1, patience // len(queues)),
                hold=began + _TICK - now,
            )
        ) as chunks:
            for messages in chunks:
                if known is None:
                    # Asked when something has come: most polls of an idle lake bring nothing.
                    births = {TableKey.decode(text): born for text, born in lake.store.table_births().items()}
                    room, known = room_today(births, lake.config, time.time()), set(births)
                before = set(known)
                intake = _sorted(lake, queue, messages, known, room)
                room -= discovered(known - before, lake.config)
                _keep(lake, queue.name, intake)
                queue.delete(messages)
                total.add(intake)
    return total


def listen(lake: Lake, patience: float = _PATIENCE) -> Intake:
    """Drain the lake's queues, and where nothing waits in the inbox, wait a while for something to come.

    Events of the platform's own files, which follow each run, do not end the wait.

    Args:
        lake: handles.
        patience: seconds.
    """
    until = time.monotonic() + patience
    busy = bool(lake.store.inbox.tables())
    total = more = take_in(lake, patience=1 if busy else int(patience))
    # What brought nothing has waited for long enough.
    while more.received and not (busy or total.hints or total.failures) and (left := int(until - time.monotonic())) > 0:
        more = take_in(lake, patience=left)
        total.add(more)
    return total


def _sorted(lake: Lake, queue: Queue, messages: list[Message], known: set[TableKey], room: int) -> Intake:
    if table := lake.config.table_of_rows(queue.name):
        return rows_as_objects(messages, table, lake.store.objects)
    return sort_by_what_is_there(messages, lake.config, known, lake.store.objects, room)


def room_today(births: Mapping[TableKey, float | None], config: LakeConfig, now: float) -> int:
    """How many more tables may come by themselves today; pure.

    A table counts on the day of its birth, and until then. One that is configured, now or since, never counts.

    Args:
        births: epoch seconds of each table's birth; None for one that only has hints waiting.
        config: the lake.
        now: epoch seconds.
    """
    if config.discovery is None:
        return 0
    midnight = now - now % _DAY
    new = (table for table, born in births.items() if born is None or born >= midnight)
    return max(0, config.discovery.per_day - discovered(new, config))


def _received(queue: Queue, failures: dict[str, Exception], **budget: Any) -> Generator[list[Message]]:
    try:
        yield from queue.drain(**budget)
    except (BotoCoreError, ClientError) as error:
        # What was received and not given out comes back; the other queues need not wait for it.
        failures[queue.name] = error


def _keep(lake: Lake, queue: str, intake: Intake) -> None:
    lake.store.inbox.put(
        [
            manifest
            for table, hints in intake.hints.items()
            for manifest in chunked(table.encode(), "intake", hints, lake.config.pace(table).max_files)
        ]
    )

    rows = lake.config.table_of_rows(queue)
    # A dead letter goes back to the queue that it came from.
    home = rows.row_queue.known_as if rows and rows.row_queue else queue

    def keep(reject: Reject) -> str:
        return lake.store.quarantine.keep_message(reject.event_id, reject.raw, reject.reason, home, reject.origin)

    for reject, address in zip(intake.rejects, parallel(keep, intake.rejects), strict=True):
        intake.rows.append(
            {"event_id": reject.event_id, "outcome": "malformed", "reason": reject.reason, "detail": address}
        )
    for row in intake.rows:
        row["queue"] = queue
    if intake.counters:
        lake.store.intake_log.put(intake.counters, intake.rows)


def requests(
    lake: Lake, instance: dg.DagsterInstance, now: float, after: str, until: float
) -> tuple[Turns, list[dg.RunRequest]]:
    """Whose turn it is, and the runs to ask for.

    Args:
        lake: handles.
        instance: Dagster's instance.
        now: epoch seconds.
        after: the folder of the inbox that was looked at last.
        until: when to stop, by ``time.monotonic``; one table is looked at in any case.
    """
    runs = table_runs(instance, BRONZE_JOB.name, (TRIGGER_TAG, "sensor"), now)
    turns = take_turns(
        lake.store.inbox.tour(after),
        lake.config,
        now,
        held=runs.active | resting(runs, lake.config, now),
        most=MOST_RUNS - runs.tagged,
        after=after,
        goes_on=lambda: time.monotonic() < until,
    )
    sharing = share(turns.due, runs.failures)
    return turns, [*(_own(table, runs) for table in sharing.own), *map(_shared, sharing.shared)]


def resting(runs: TableRuns, config: LakeConfig, now: float) -> set[str]:
    """Tables that failed so lately that they should rest; pure."""
    return {
        table
        for table, failures in runs.failures.items()
        if is_table_key(table) and failures.rest(config.pace(TableKey.decode(table)).window, now)
    }


def _own(table: str, runs: TableRuns) -> dg.RunRequest:
    tags = {TRIGGER_TAG: "sensor"}
    if table in runs.failures:
        tags[FAILURES_TAG] = str(runs.failures[table].number)
    return dg.RunRequest(job_name=BRONZE_JOB.name, partition_key=table, tags=tags)


def _shared(tables: list[str]) -> dg.RunRequest:
    return dg.RunRequest(job_name=SHARED_JOB, run_config=shared_config(tables), tags={TRIGGER_TAG: "sensor"})


def build_intake_sensor(config: LakeConfig, shared: dg.JobDefinition) -> dg.SensorDefinition:
    """The sensor that drains the queues and asks for bronze runs.

    Partitions and run requests follow from the inbox's listing, never from the messages of the tick: a tick that timed
    out has done its writes, and the next one goes on from them. The cursor says how far a tour of the inbox came.
    Configured tables have a partition without any hint, so that they can be materialized by hand. ``run_key`` stays
    None, for a used one is never run again, even after a failure.

    Args:
        config: the lake.
        shared: the job of runs that tables share.
    """

    @dg.sensor(
        name="intake",
        jobs=[BRONZE_JOB, shared],
        minimum_interval_seconds=config.intake.every,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Drains SQS into the lake's inbox and asks for a bronze run of every table whose window is over.",
    )
    def intake(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        until = time.monotonic() + config.intake.seconds
        handles = lake.open()
        taken = listen(handles)
        now = datetime.now(UTC).timestamp()
        before = json.loads(context.cursor or "{}")
        turns, asked = requests(handles, context.instance, now, str(before.get("last", "")), until)
        wanted = {*turns.seen, *(spec.table_key.encode() for spec in config.tables)}
        unknown = sorted(wanted - set(context.instance.get_dynamic_partitions(TABLES.name or "")))
        said = (
            f"received {taken.received} events, {sum(taken.counters.values())} of them no table's; "
            f"{'' if turns.whole else 'at least '}{turns.hints} hints wait for {len(turns.seen)} tables"
        )
        context.log.info(said)
        for line in told(taken.rows):
            context.log.warning(line)
        for stray in turns.strays[:_MOST_STRAYS]:
            context.log.error(stray)
        today = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
        judged = judge(context.cursor, today, [one.known_as for one in config.every_queue], taken.rows)
        for name, error in taken.failures.items():
            context.log.error(f"queue {name} could not be drained: {error}")
            if not asked and not judged.failed:
                raise error  # A tick that has nothing else to say fails, where people look.
        return dg.SensorResult(
            asset_events=judged.evaluations,
            cursor=json.dumps({**json.loads(judged.cursor), "last": turns.last}),
            run_requests=asked,
            dynamic_partitions_requests=[TABLES.build_add_request(unknown)] if unknown else [],
            skip_reason=None if asked else dg.SkipReason(said),
        )

    return intake
