"""Redrive: objects and messages in quarantine are tried again, after their cause was fixed.

A redrive produces hints, as a notification does, or messages, as a producer does. Runs and the intake process them
like all others. Messages that the destination of a route did not take return to its outbox.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from botocore.exceptions import ClientError

from tidegate.platform.core.bronze.hint import Hint, Redriven, Replacement
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.bronze.manifest import split_into_manifests
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.events.row_queue import RowOrigin, identify_row
from tidegate.platform.core.foreign_json import foreign_json
from tidegate.platform.core.seams import seam
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.answers import is_of_one_message
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.logs import OperationsLog
from tidegate.platform.lake.lake_root.outbox import Outbox, Undeliverable
from tidegate.platform.lake.lake_root.quarantine import KeptMessage, Quarantine
from tidegate.platform.lake.ledger import Ledger, Quarantined

#: Default rate: hints or messages per second.
RATE = 500

#: Messages that are moved at a time. Each has up to a megabyte.
_AT_ONCE = 20


@dataclass(frozen=True)
class Choice:
    """Selects objects or messages in quarantine.

    Attributes:
        reason: part of the reason. Case does not matter.
        key: glob over object keys, or over the event ids of messages.
        since: quarantined at or after this time.
        until: quarantined before this time.
    """

    reason: str = ""
    key: str = "*"
    since: datetime | None = None
    until: datetime | None = None

    def includes(self, key: str, reason: str, at: datetime) -> bool:
        """Return whether an object or message is selected.

        Args:
            key: object key, or event id of a message.
            reason: why it is in quarantine.
            at: since when it is in quarantine.
        """
        return (
            self.reason.lower() in reason.lower()
            and fnmatchcase(key, self.key)
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
        )

    def to_log(self) -> dict[str, str]:
        """Return the given conditions in the form of the operations log."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return {
            name: value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
            for name, value in given.items()
        }


@dataclass(frozen=True)
class RedriveRequest:
    """A redrive that a person asked for.

    Attributes:
        by: the user or run that asked.
        choice: what is tried again.
        rate: hints or messages per second.
        log: called with each line of progress.
        sleep: waits, in seconds.
    """

    by: str
    choice: Choice = Choice()
    rate: int = RATE
    log: Callable[[str], None] = field(default=lambda _: None, repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)


def quarantined_objects(lake: Lake, table_key: str, choice: Choice) -> list[Quarantined]:
    """Return the chosen objects of a table that are in quarantine now, as a whole or with some rows, by key.

    Objects whose rows an adopted table may have already are chosen by a key, and by nothing else.
    """
    ledger = lake.table(table_key).ledger
    version, _ = ledger.clock()
    return [
        found
        for found in ledger.quarantined_objects(version)
        if choice.includes(found.key, found.reason, found.at) and not (found.unlogged and choice.key[:1] in "*?[")
    ]


def redrive_objects(lake: Lake, table_key: str, found: Sequence[Quarantined], request: RedriveRequest) -> str:
    """Put hints of quarantined objects into the inbox, so that the next run decides them again.

    Returns the address of the entry in the operations log.

    Args:
        found: the objects.
        request: what was asked for.
    """
    table = lake.table(table_key)
    size = min(request.rate, table.spec.max_files)
    hints = _hints(table.ledger, found)
    manifests = list(split_into_manifests(table_key, "redrive", hints, size))
    address = lake.store.operations.put(
        "redrive",
        request.by,
        table=table_key,
        choice=request.choice.to_log(),
        objects=len(found),
        manifests=[manifest.id for manifest in manifests],
    )
    seam("redrive-log")
    done = 0
    for manifest in manifests:
        if done:
            request.sleep(size / request.rate)
        lake.store.inbox.put([manifest])
        seam("redrive-manifest")
        done += len(manifest.hints)
        request.log(f"{done} of {len(found)} objects of {table_key} are in the inbox")
    return address


def _hints(ledger: Ledger, found: Sequence[Quarantined]) -> list[Hint]:
    """Return hints of objects. If a rebuild refused an object whose rows are in the table, its hint replaces them."""
    version, n = ledger.clock()
    states = ledger.memory(version, n, [item.key for item in found])[1]
    gone_since = any(state.in_table and state.status != Status.COMMITTED for state in states.values())
    # The last ledger row of a moved or removed object is of a batch that brought no rows.
    readings = {(row.key, row.etag): row.n for row in ledger.committed_readings(version)} if gone_since else {}

    def hint(key: str) -> Hint:
        state = states.get(key)
        if state is None or not state.in_table:
            return Hint(key, Redriven())
        brought = state.n if state.status == Status.COMMITTED else readings.get((key, state.etag or ""))
        return Hint(key, Redriven(Replacement(brought, state.n) if brought is not None else None))

    return [hint(item.key) for item in found]


def quarantined_messages(quarantine: Quarantine, choice: Choice) -> list[KeptMessage]:
    """Return the chosen messages in quarantine, in the order of their event ids, without their bodies."""
    kept = quarantine.messages()
    return [
        replace(message, body="", attributes={})
        for message in kept
        if choice.includes(message.event_id, message.reason, message.at)
    ]


def redrive_messages(lake: Lake, found: Sequence[KeptMessage], request: RedriveRequest) -> str:
    """Send quarantined messages to their queue again. Returns the address of the entry in the operations log.

    Messages with S3 events go to the lake's first queue of events, never to a row queue, which would make rows of them.
    Messages of a row queue go to their queue, with their original id and time. A message leaves the quarantine after it
    was sent. If it is sent twice, it is a duplicate like any other. A message that SQS refuses stays in quarantine, and
    the others are sent.

    Args:
        request: what was asked for.

    Raises:
        ClientError: SQS refuses not only a message, but the caller or the queue.
        BotoCoreError: SQS does not answer.
    """
    queues = {queue.name: queue for queue in lake.queues}
    of_events = next((queue for queue in lake.queues if lake.config.table_of_rows(queue.name) is None), None)

    def home(message: KeptMessage) -> Queue | None:
        return queues.get(message.queue) if message.origin else of_events

    ready = [message for message in found if home(message)]
    without_table = Counter(message.queue for message in found if message.origin and message.queue not in queues)
    for name, kept in without_table.items():
        request.log(
            f"{kept} messages of {name} stay in quarantine: lake.yaml has no table with this row queue any more"
        )
    if of_events is None and (kept := sum(not message.origin for message in found)):
        request.log(f"{kept} messages with S3 events stay in quarantine: lake.yaml has no queue of events")
    address = lake.store.operations.put(
        "redrive-messages",
        request.by,
        choice=request.choice.to_log(),
        queue=", ".join(dict.fromkeys(queue.name for message in ready if (queue := home(message)))),
        messages=[message.key for message in ready],
    )
    seam("redrive-log")
    sent = 0
    for done, kept_message in enumerate(ready, 1):
        message = lake.store.quarantine.message(kept_message)
        queue = home(kept_message)
        if message and queue and _send(queue, lake.config, message, request.log):
            seam("redrive-sent")
            lake.store.quarantine.release(message)
            sent += 1
        if done % request.rate == 0 and done < len(ready):
            request.log(f"{sent} of {len(ready)} messages were sent again")
            request.sleep(1.0)
    request.log(f"{sent} of {len(ready)} messages were sent again")
    return address


def _send(queue: Queue, config: LakeConfig, message: KeptMessage, log: Callable[[str], None]) -> bool:
    """Send a message. If SQS refuses this message, log it and return False."""
    try:
        if message.origin:
            try:
                queue.send(*_row(config, message, message.origin))
            except ValueError as error:
                log(f"{message.event_id} stays in quarantine: {error}")
                return False
        else:
            queue.send(message_from_body(message.body), attributes=message.attributes)
    except ClientError as error:
        if not is_of_one_message(error):
            raise
        log(f"{message.event_id} stays in quarantine because SQS refuses it: {first_line(error)}")
        return False
    return True


def _row(config: LakeConfig, message: KeptMessage, origin: RowOrigin) -> tuple[str, RowOrigin]:
    """Return the text and the identity of a row that is sent again."""
    if message.event_id != f"{origin.message_id}#0":
        # It came with its identity, or out of its topic's envelope, so the body is the row's text.
        return message.body, origin
    table = config.table_of_rows(message.queue)
    return identify_row(message.body, origin, None, table.row_queue.topic if table and table.row_queue else None)


def message_from_body(body: str) -> str:
    """Return a kept body as a message. A record that was cut out of a notification becomes a notification again."""
    try:
        content = foreign_json(body)
    except ValueError:
        return body
    if isinstance(content, dict) and "s3" in content and "Records" not in content:
        return json.dumps({"Records": [content]}, ensure_ascii=False)
    return body


def undeliverable_messages(outbox: Outbox, route: str, choice: Choice) -> list[Undeliverable]:
    """Return the chosen messages in the quarantine of a route, without their bodies."""
    return [
        replace(kept, message=replace(kept.message, body=""))
        for kept in outbox.undeliverable_messages(route)
        if choice.includes(kept.message.id, kept.reason, kept.at)
    ]


def redrive_route(
    outbox: Outbox, operations: OperationsLog, route: str, found: Sequence[Undeliverable], request: RedriveRequest
) -> str:
    """Move quarantined messages of a route to its outbox. Returns the address of the entry in the operations log.

    A message leaves the quarantine after it is in the outbox, from which the sensor `forward` sends it. A message that
    a queue did not take goes only to that queue.

    Args:
        outbox: what waits to be forwarded.
        route: name of the route.
        found: the messages.
        request: what was asked for.
    """
    address = operations.put(
        "redrive-route",
        request.by,
        route=route,
        choice=request.choice.to_log(),
        messages=[kept.key for kept in found],
    )
    seam("redrive-log")
    for start in range(0, len(found), _AT_ONCE):
        some = found[start : start + _AT_ONCE]
        outbox.send_again(route, some)
        request.log(f"{start + len(some)} of {len(found)} messages of {route} are in the outbox")
        if start + len(some) < len(found):
            request.sleep(len(some) / request.rate)
    return address
