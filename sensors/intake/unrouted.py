"""What the intake sensor says of events that have no table: failed checks, and when they pass again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from tidegate.assets.presentation.check_events import as_event
from tidegate.assets.sources.queue_checks import MISSES, queue_check_result
from tidegate.platform.core.first_line import one_line
from tidegate.platform.core.keys.s3_address import S3Address

#: Events that a tick's log tells one by one.
_MAX_TOLD = 10


@dataclass(frozen=True)
class QueueVerdicts:
    """What a tick says of the queues.

    Attributes:
        evaluations: nothing of a queue of which there is nothing new.
        cursor: the sensor's next.
    """

    evaluations: Sequence[dg.AssetCheckEvaluation]
    cursor: str

    @property
    def failed(self) -> bool:
        """Whether a check failed."""
        return not all(one.passed for one in self.evaluations)


def log_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each of the first events that lead to nothing, own files left out; the intake log has all.

    Args:
        rows: what a tick wrote to the intake log.
    """
    lines = []
    for row in [row for row in rows if row["outcome"] != "own_file"][:_MAX_TOLD]:
        what = S3Address(row["bucket"], row["key"]).s3 if "key" in row else row["detail"]
        lines.append(one_line(f"{row['outcome']}: {what}: {row['reason']}"))
    return lines


def evaluate_checks(
    cursor: str | None, today: str, queues: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> QueueVerdicts:
    """What is to be said of the queues after a tick; pure.

    A miss fails its queue's check at once, with the counts of the day; it passes again on a later day, so that the
    next good tick does not hide it.

    Args:
        cursor: the day (UTC) of the tick before, and its misses by queue and outcome.
        today: yyyy-mm-dd.
        queues: names of the queues.
        rows: what the tick wrote to the intake log.
    """
    before = json.loads(cursor) if cursor else {}
    same_day = before.get("day") == today
    misses, said = {}, []
    for name in queues:
        earlier = Counter(before.get("misses", {}).get(name, {}))
        missed = [row for row in rows if row.get("queue") == name and row["outcome"] in MISSES]
        counts = (earlier if same_day else Counter()) + Counter(str(row["outcome"]) for row in missed)
        if counts:
            misses[name] = dict(counts)
        if missed or not cursor or (earlier and not same_day):
            said.append(as_event(queue_check_result(name, counts, missed)))
    return QueueVerdicts(said, json.dumps({"day": today, "misses": misses}))
