"""The check of each queue: whether all its events of the day were understood and belong to a table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from tidegate.assets.sources.asset import dead_letters_of, queue_key
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.resources.lake_resource import LakeResource

CHECK = "every_event_has_a_table"
#: Outcomes in the intake log that fail the check.
MISSES = ("no_table", "malformed")
_MAX_SHOWN = 20


def queue_check_result(queue: str, counts: Mapping[str, int], rows: Sequence[Mapping[str, Any]]) -> dg.AssetCheckResult:
    """Returns the result of a queue's check.

    Args:
        queue: name of the queue.
        counts: the day's events without a table, by outcome.
        rows: some of these events, as rows of the intake log.
    """
    events = [
        dg.TableRecord({"key": row.get("key") or row.get("event_id") or "", "reason": row.get("reason") or ""})
        for row in rows[:_MAX_SHOWN]
    ]
    return dg.AssetCheckResult(
        asset_key=queue_key(queue),
        check_name=CHECK,
        passed=not any(counts.values()),
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            **{outcome: counts.get(outcome, 0) for outcome in MISSES},
            **({"events": dg.MetadataValue.table(events)} if events else {}),
        },
        description="see lake.intake: configure a table, or stop sending them" if any(counts.values()) else None,
    )


def build_queue_checks(config: LakeConfig) -> list[dg.AssetChecksDefinition]:
    """Build the checks of queues and dead-letter queues, which read today's intake log.

    The sensor that drains a queue evaluates its check, and a user may run it.
    """
    names = [*(spec.name for spec in config.every_queue), *dead_letters_of(config)]
    queues = {queue_key(name): name for name in names}

    @dg.multi_asset_check(
        name="queues",
        specs=[
            dg.AssetCheckSpec(
                CHECK,
                asset=key,
                description="Every event of the day (UTC) was understood and belongs to a table.",
            )
            for key in queues
        ],
        can_subset=True,
        description="Counts the events of today in the intake log that have no table.",
    )
    def queue_checks(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        today = lake.open().store.intake_log.entries(datetime.now(UTC).strftime("%Y-%m-%d"))
        missed = [row for entry in today for row in entry["rows"] if row["outcome"] in MISSES]
        for key in context.selected_asset_check_keys:
            queue = queues[key.asset_key]
            rows = [row for row in missed if row.get("queue") == queue]
            yield queue_check_result(queue, Counter(str(row["outcome"]) for row in rows), rows)

    return [queue_checks]
