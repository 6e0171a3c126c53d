"""What the intake sensor reports of events without a table: log lines and the queues' checks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from tidegate.assets.presentation.check_events import evaluation_event
from tidegate.assets.sources.queue_checks import queue_check_result
from tidegate.platform.core.routing.unrouted_events import Unrouted
from tidegate.platform.core.wording import one_line

#: Events that have a line of their own in a tick's log. The intake log has all of them.
_MAX_LINES = 10


@dataclass(frozen=True)
class QueueVerdicts:
    """The results of the queues' checks after a tick.

    Attributes:
        evaluations: the results that have changed.
        cursor: the sensor's next cursor.
    """

    evaluations: Sequence[dg.AssetCheckEvaluation]
    cursor: str


def log_lines(unrouted: Sequence[Unrouted]) -> list[str]:
    """Return a line for each of a tick's first events that have no table. Own files have no line."""
    events = [event for event in unrouted if event.outcome != "own_file"][:_MAX_LINES]
    return [one_line(f"{event.outcome}: {event.subject}: {event.reason}") for event in events]


def evaluate_checks(
    cursor: str | None, today: str, queues: Mapping[str, dg.AssetKey], unrouted: Sequence[Unrouted]
) -> QueueVerdicts:
    """Evaluate the queues' checks after a tick. Pure.

    A miss fails its queue's check at once, with the counts of the day. The check passes again on a later day, so that
    the next good tick does not hide the miss.

    Args:
        cursor: the day (UTC) of the last tick, and its misses by queue and outcome.
        today: yyyy-mm-dd.
        queues: the asset of each queue, by its name.
        unrouted: the events of the tick that have no table.
    """
    before = json.loads(cursor) if cursor else {}
    same_day = before.get("day") == today
    misses: dict[str, dict[str, int]] = {}
    evaluations = []
    for name, key in queues.items():
        earlier = Counter(before.get("misses", {}).get(name, {}))
        missed = [event for event in unrouted if event.queue == name and event.is_miss]
        counts = (earlier if same_day else Counter()) + Counter(str(event.outcome) for event in missed)
        if counts:
            misses[name] = dict(counts)
        if missed or not cursor or (earlier and not same_day):
            evaluations.append(evaluation_event(queue_check_result(key, counts, missed)))
    return QueueVerdicts(evaluations, json.dumps({"day": today, "misses": misses}))
