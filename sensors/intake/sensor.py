"""The intake sensor: SQS messages become durable hints, and hints become runs."""

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg

from tidegate.assets.bronze.asset import BRONZE, TABLES, TRIGGER_TAG
from tidegate.assets.runs.held_tables import SHARED_JOB, shared_config
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.resources.aws.sqs import Queue
from tidegate.resources.lake import Lake
from tidegate.resources.lake_resource import LakeResource
from tidegate.resources.lake_root.root import is_table_key
from tidegate.resources.side_by_side import SideBySide
from tidegate.sensors.intake.drains import Drains
from tidegate.sensors.intake.queue_order import QueueOrder
from tidegate.sensors.intake.sharing import share
from tidegate.sensors.intake.sort import Intake
from tidegate.sensors.intake.turns import MOST_RUNS, Turns, take_turns
from tidegate.sensors.intake.unrouted import judge, told
from tidegate.sensors.run_history import FAILURES_TAG, TableRuns, table_runs

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
#: Seconds into a tick after which it goes on without a queue that has not ended, and those that looking through the
#: inbox may take then: together less than a tick.
_WORKING, _TOUR = 40.0, 12.0
#: Queues that are listened to at a time: of 800 idle ones each has a long poll of a second within a tick's receives.
_LISTENERS = 64
#: Those that were in trouble are asked by threads of their own, and waited for no longer than this.
_ILL_LISTENERS, _ILL_WAIT = 16, 2.0


def take_in(
    lake: Lake,
    *,
    seconds: float | None = None,
    queues: Sequence[Queue] | None = None,
    patience: int = 1,
    order: QueueOrder | None = None,
) -> Intake:
    """Drain queues once: manifests and logs are written first, messages are deleted last.

    While some messages are written and deleted, the next ones are received. Queues are drained side by side, and what
    one does not need of the budget the others may take, so that neither a busy one nor one that does not answer keeps
    the others waiting. What fails in a queue's drain or work is in ``failures``. What was received stays hidden from
    others until it is deleted, also where writing takes longer than the queue's visibility timeout.

    Args:
        lake: handles.
        seconds: time budget of the receives; a part of the configuration's by default.
        queues: those to drain; the lake's own by default.
        patience: seconds to wait for a first message, in whichever queue it comes.
        order: what is remembered of the queues; it is told what became of them.
    """
    by_name = {queue.name: queue for queue in (lake.queues if queues is None else queues)}
    order = order or QueueOrder()
    healthy, troubled = order.healthy(list(by_name)), order.troubled(list(by_name))
    tick = Drains(
        lake,
        len(by_name),
        seconds=seconds or lake.config.intake.seconds * _RECEIVING,
        patience=patience,
        listeners=_LISTENERS,
        hold=_TICK,
    )
    well = SideBySide(lambda name: tick.drain(by_name[name]), healthy, _LISTENERS)
    ill = SideBySide(lambda name: tick.drain(by_name[name], probation=True), troubled, _ILL_LISTENERS)
    well.wait(_WORKING)
    ill.wait(_ILL_WAIT - tick.elapsed)
    # A queue that was in trouble is waited for only if it answers again.
    ill.wait(_WORKING - tick.elapsed, only=tick.answered())
    total = tick.end()
    outcomes, on_probation = well.outcomes(), ill.outcomes()
    for one in (*outcomes, *on_probation):
        if one.begun and one.value is None:
            why = f"it has not ended after {tick.elapsed:.0f} seconds; the tick goes on without it"
            total.failures[one.item] = one.error or TimeoutError(why)
    order.note(
        [one.item for one in outcomes if not one.begun or one.value is False],
        list(total.failures),
        {one.item for one in (*outcomes, *on_probation) if one.value},
    )
    return total


def listen(lake: Lake, patience: float = _PATIENCE, order: QueueOrder | None = None) -> Intake:
    """Drain the lake's queues, and where nothing waits in the inbox, wait a while for something to come.

    Events of the platform's own files, which follow each run, do not end the wait.

    Args:
        lake: handles.
        patience: seconds.
        order: what is remembered of the queues.
    """
    until = time.monotonic() + patience
    busy = bool(lake.store.inbox.tables())
    total = more = take_in(lake, patience=1 if busy else int(patience), order=order)
    # What brought nothing has waited for long enough.
    while more.received and not (busy or total.hints or total.failures) and (left := int(until - time.monotonic())) > 0:
        more = take_in(lake, patience=left, order=order)
        total.add(more)
    return total


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

    order = QueueOrder()

    @dg.sensor(
        name="intake",
        jobs=[BRONZE_JOB, shared],
        minimum_interval_seconds=config.intake.every,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Drains SQS into the lake's inbox and asks for a bronze run of every table whose window is over.",
    )
    def intake(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        handles = lake.open()
        taken = listen(handles, order=order)
        now = datetime.now(UTC).timestamp()
        before = json.loads(context.cursor or "{}")
        # A time of its own: what waits in the inbox is worked off, however long the queues have taken.
        until = time.monotonic() + _TOUR
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
            if not asked and not judged.failed and turns.whole:
                # A tick that has nothing else to say fails, where people look. Where the tour is to go on from its
                # place, the cursor has to stay.
                raise error
        return dg.SensorResult(
            asset_events=judged.evaluations,
            cursor=json.dumps({**json.loads(judged.cursor), "last": turns.last}),
            run_requests=asked,
            dynamic_partitions_requests=[TABLES.build_add_request(unknown)] if unknown else [],
            skip_reason=None if asked else dg.SkipReason(said),
        )

    return intake
