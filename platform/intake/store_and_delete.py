"""Stores what messages brought, and only then deletes the messages from their queue."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from tidegate.platform.core.events.s3_event import Reject
from tidegate.platform.core.routing.unrouted_events import Detail, Unrouted
from tidegate.platform.core.seams import seam
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.round_manifests import divide_round, intake_manifests
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.outbox import Lane
from tidegate.platform.lake.threads import parallel


def store_and_delete(lake: Lake, queue: Queue, messages: Sequence[Message], intake: IntakeResult) -> None:
    """Store manifests, messages to forward, malformed messages and the intake log, and delete the messages last.

    A message whose result is not stored is not deleted: SQS delivers it again.

    Args:
        queue: the queue that the messages came from.
        intake: what they brought. The name of the queue is added to its events without a table.

    Raises:
        Exception: S3 did not store an object. No message is deleted then.
    """
    store(lake, queue.name, intake)
    queue.delete(messages)


def store(lake: Lake, queue: str, intake: IntakeResult) -> None:
    """Store what messages of a queue brought, in the order that `store_and_delete` needs.

    Args:
        queue: the name of the queue.
        intake: what they brought. The name of the queue is added to its events without a table.

    Raises:
        Exception: S3 did not store an object. No message may be deleted then.
    """
    config, rooms = lake.config, lake.store
    divided = divide_round(intake.hints, config, intake.unborn, time.time())
    if divided.gathered:
        rooms.gathered.put(divided.gathered)
        seam("intake-gathered")
    rooms.inbox.put(divided.direct)
    if intake.held:
        rooms.held.keep(intake_manifests(config, intake.held))
    if intake.outgoing:
        rooms.outbox.put((Lane(route), messages) for route, messages in intake.outgoing.items())
    seam("intake-stored")

    rows = config.table_of_rows(queue)
    # A dead letter belongs to the queue that it came from.
    home = rows.row_queue.name if rows and rows.row_queue else queue

    def keep(reject: Reject) -> str:
        known = (reject.event_id, reject.raw, reject.reason)
        return rooms.quarantine.keep_message(*known, home, reject.origin, reject.attributes)

    intake.unrouted = [replace(event, queue=queue) for event in intake.unrouted]
    for reject, address in zip(intake.rejects, parallel(keep, intake.rejects), strict=True):
        intake.unrouted.append(Unrouted(reject.event_id, "malformed", queue, Detail(address), reject.reason))
    if intake.counters:
        rooms.intake_log.put(intake.counters, intake.unrouted)
