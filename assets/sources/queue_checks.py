"""A check on each queue: whether every event that came through it was understood and has a table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from tidegate.assets.sources.asset import dead_letters_of, queue_key
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.resources.lake_resource import LakeResource

CHECK = "every_event_has_a_table"
#: Outcomes in the intake log that nobody wants.
MISSES = ("no_table", "malformed")
_MOST_TOLD = 20


def result(queue: str, counts: Mapping[str, int], rows: Sequence[Mapping[str, Any]]) -> dg.AssetCheckResult:
    """What the check says of a queue.

    Args:
        queue: its name.
        counts: the day's misses by outcome.
        rows: some of them, as the intake log has them.
    """
    told = [
        dg.TableRecord({"key": row.get("key") or row.get("event_id") or "", "reason": row.get("reason") or ""})
        for row in rows[:_MOST_TOLD]
    ]
    return dg.AssetCheckResult(
        asset_key=queue_key(queue),
        check_name=CHECK,
        passed=not any(counts.values()),
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            **{outcome: counts.get(outcome, 0) for outcome in MISSES},
            **({"events": dg.MetadataValue.table(told)} if told else {}),
        },
        description="see lake.intake; configure a table, or stop sending them" if any(counts.values()) else None,
    )


def build_queue_checks(config: LakeConfig) -> list[dg.AssetChecksDefinition]:
    """The checks of queues and dead-letter queues, by the intake log of today.

    The sensor that drains a queue evaluates its check, and a person may.
    """
    names = [*(spec.known_as for spec in config.every_queue), *dead_letters_of(config)]
    queues = {queue_key(name): name for name in names}

    @dg.multi_asset_check(
        name="queues",
        specs=[
            dg.AssetCheckSpec(
                CHECK,
                asset=key,
                description="Every event of the day (UTC) was understood, and has a table.",
            )
            for key in queues
        ],
        can_subset=True,
        description="What the intake log says of today.",
    )
    def queue_checks(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        today = lake.open().store.intake_log.entries(datetime.now(UTC).strftime("%Y-%m-%d"))
        missed = [row for entry in today for row in entry["rows"] if row["outcome"] in MISSES]
        for key in context.selected_asset_check_keys:
            own = [row for row in missed if row.get("queue") == queues[key.asset_key]]
            yield result(queues[key.asset_key], Counter(str(row["outcome"]) for row in own), own)

    return [queue_checks]
