"""The check of each queue: whether all its events of the day were understood and belong to a table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import check_result
from tidegate.assets.presentation.shared_checks import check_of_each
from tidegate.assets.sources.asset import dead_letters_of
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.markdown import sentence
from tidegate.platform.core.routing.unrouted_events import MISSES, Unrouted
from tidegate.resources.lake_resource import LakeResource, with_lake

CHECK = "every_event_has_a_table"
_MAX_SHOWN = 20


def queue_check_result(
    queue: dg.AssetKey, counts: Mapping[str, int], unrouted: Sequence[Unrouted]
) -> dg.AssetCheckResult:
    """Return the result of a queue's check.

    Args:
        queue: its asset.
        counts: the day's events without a table, by outcome.
        unrouted: some of these events.
    """
    events = [
        dg.TableRecord({"key": event.key or event.event_id, "reason": event.reason}) for event in unrouted[:_MAX_SHOWN]
    ]
    return check_result(
        asset_key=queue,
        check_name=CHECK,
        passed=not any(counts.values()),
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            **{outcome: counts.get(outcome, 0) for outcome in MISSES},
            **({"events": dg.MetadataValue.table(events)} if events else {}),
        },
        description=sentence("see lake.intake: configure a table, or stop sending them")
        if any(counts.values())
        else None,
    )


def build_queue_checks(config: LakeConfig) -> list[dg.AssetChecksDefinition]:
    """Build the checks of queues and dead-letter queues, which read today's intake log.

    The sensor that drains a queue evaluates its check, and a user may run it.
    """
    names = LakeNames.from_config(config)
    queues = {
        names.queue(name): name for name in (*(spec.name for spec in config.every_queue), *dead_letters_of(config))
    }

    @check_of_each(
        queues,
        CHECK,
        "Every event of the day (UTC) was understood and belongs to a table.",
        name=names.name("queues"),
        description="Counts the events of today in the intake log that have no table.",
    )
    @with_lake(names.resource)
    def queue_checks(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        today = lake.open().store.intake_log.entries(datetime.now(UTC).strftime("%Y-%m-%d"))
        missed = [event for entry in today for event in entry.unrouted if event.is_miss]
        for key in context.selected_asset_check_keys:
            queue = queues[key.asset_key]
            unrouted = [event for event in missed if event.queue == queue]
            yield queue_check_result(key.asset_key, Counter(event.outcome for event in unrouted), unrouted)

    return [queue_checks]
