"""What the messages of a row queue say: rows, which become objects under the lake root, and hints that name these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.events.row_message import Row, row_of
from tidegate.platform.core.events.row_object import RowObject
from tidegate.platform.core.events.s3_event import Reject
from tidegate.platform.core.times import from_millis
from tidegate.resources.aws.s3 import ObjectStore
from tidegate.resources.aws.sqs import Message
from tidegate.resources.threads import parallel
from tidegate.sensors.intake.sort import Intake

#: Event name of the hints.
ROWS_SENT = "RowsSent"
#: Bytes and rows of one object, at most; a row alone may have more bytes, up to SQS's limit for a message.
_MAX_BYTES = 16 << 20
_MAX_ROWS = 10_000
#: Milliseconds between two rows of one object, at most: the times in its name are where its rows are looked for, so a
#: message that comes back after days is none of the others'.
_LONGEST_GAP = 3_600_000


def rows_as_objects(messages: Sequence[Message], table: TableSpec, objects: ObjectStore) -> Intake:
    """Write the messages' rows as JSON lines below the table's prefix; the hints that name them, and what is no row.

    A message that comes twice is written twice: the load drops it.

    Args:
        messages: as received.
        table: the table of the queue.
        objects: handle on S3.

    Raises:
        ClientError: S3 does not take an object. What was written is found by the next listing, or never; the messages
            come back in any case.
    """
    intake = Intake(received=len(messages))
    rows = []
    for message in messages:
        try:
            rows.append(row_of(message.body, message.origin))
        except ValueError as error:
            intake.count("malformed")
            intake.rejects.append(Reject(f"{message.id}#0", str(error), message.body, message.origin))
    made = parallel(lambda group: _write(group, table, objects), _groups(rows))
    if hints := list(made):
        intake.hints[table.table_key] = hints
    return intake


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows of one object each, in the order in which they were sent."""
    group: list[Row] = []
    size = 0
    for row in sorted(rows, key=lambda one: one.origin.sent_at):
        late = group and row.origin.sent_at - group[-1].origin.sent_at > _LONGEST_GAP
        length = len(row.line) if row.line.isascii() else len(row.line.encode())
        if group and (late or len(group) == _MAX_ROWS or size + length > _MAX_BYTES):
            yield group
            group, size = [], 0
        group.append(row)
        size += length
    if group:
        yield group


def _write(group: Sequence[Row], table: TableSpec, objects: ObjectStore) -> Hint:
    first, last = group[0].origin.sent_at, group[-1].origin.sent_at
    key = RowObject(len(group), first, last).new_key(table.table_key.prefix)
    body = "".join(f"{row.line}\n" for row in group).encode()
    objects.put(table.table_key.bucket, key, body)
    time = from_millis(first).isoformat(timespec="milliseconds")
    return Hint(key, event_name=ROWS_SENT, event_time=time, size=len(body))
