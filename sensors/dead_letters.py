"""The sensor that takes dead letters in. It is off until a person has fixed the cause and turns it on."""

from __future__ import annotations

from datetime import UTC, datetime

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.sources.asset import dead_letters_of
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.intake.fair_drain import QueueOrder
from tidegate.platform.intake.tick import take_in
from tidegate.resources.lake_resource import LakeResource, with_lake
from tidegate.sensors.intake.unrouted_report import evaluate_checks, log_lines


def build_dead_letters_sensor(config: LakeConfig) -> list[dg.SensorDefinition]:
    """Build the sensor if `lake.yaml` names a dead-letter queue.

    It drains dead-letter queues as the intake drains the others. Runs and partitions follow from the inbox, so the next
    tick of the intake requests them.
    """
    names = list(dead_letters_of(config))
    if not names:
        return []

    order, lake_names = QueueOrder(), LakeNames.from_config(config)

    @dg.sensor(
        name=lake_names.name("dead_letters"),
        minimum_interval_seconds=config.intake.every,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Takes in the messages of the dead-letter queues, as the intake does with the queues. Turn it on "
        "when the cause is fixed, and off again when they are empty.",
    )
    @with_lake(lake_names.resource)
    def dead_letters(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        handles, log = lake.open(), RunLog(context.log)
        sources = {queue.name: queue for queue in handles.queues}
        queues = [sources[source].sibling(name) for name, source in dead_letters_of(config).items()]
        taken = take_in(handles, queues=queues, order=order)
        for line in log_lines(taken.unrouted):
            log.warning(line)
        for line in taken.left:
            log.error(line)
        for name, error in taken.failures.items():
            log.error(f"dead-letter queue {name} could not be drained: {error}")
        keys = {name: lake_names.queue(name) for name in names}
        verdicts = evaluate_checks(context.cursor, datetime.now(UTC).strftime("%Y-%m-%d"), keys, taken.unrouted)
        summary = f"took in {taken.received} events of dead letters, {sum(taken.counters.values())} of them no table's"
        return dg.SensorResult(
            asset_events=verdicts.evaluations, cursor=verdicts.cursor, skip_reason=dg.SkipReason(summary)
        )

    return [dead_letters]
