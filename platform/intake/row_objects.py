"""Writes the messages of a row queue as objects under the lake root, and makes hints of these objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tidegate.platform.core.bronze.hint import Hint, RowsSent
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.events.row_queue import Row, RowObject, row_of
from tidegate.platform.core.events.s3_event import Reject
from tidegate.platform.core.portions import portions
from tidegate.platform.core.times import from_millis
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.threads import parallel

#: Limits of one object. A single row may have more bytes, up to SQS's limit for a message.
_MAX_BYTES = 16 << 20
_MAX_ROWS = 10_000
#: Milliseconds between two rows of one object. The load searches for repeated messages in the time span that the
#: object's name has, so a message that comes back after days gets an object of its own.
_MAX_GAP_MILLIS = 3_600_000


def write_row_objects(messages: Sequence[Message], table: TableSpec, objects: ObjectStore) -> IntakeResult:
    """Write rows as JSON lines below the table's prefix. Returns their hints, and the messages that are not rows.

    A message that comes twice is written twice. The load drops it.

    Args:
        messages: as received.
        table: the table of the queue.

    Raises:
        ClientError: S3 refused an object. The messages come back. Objects that were written before are found by the
            next listing, if there is one.
    """
    intake = IntakeResult(received=len(messages))
    rows, topic = [], table.row_queue.topic if table.row_queue else None
    for message in messages:
        found = message
        try:
            found = message.with_identity(topic)
            rows.append(row_of(found.body, found.origin))
        except ValueError as error:
            intake.count("malformed")
            intake.rejects.append(Reject(f"{message.id}#0", str(error), found.body, found.origin))
    made = parallel(lambda group: _write(group, table, objects), _groups(rows))
    if hints := list(made):
        intake.hints[table.table_key] = hints
    return intake


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Group rows into objects, in the order in which they were sent."""
    return portions(
        sorted(rows, key=lambda row: row.origin.sent_at),
        lambda row: len(row.line) if row.line.isascii() else len(row.line.encode()),
        max_items=_MAX_ROWS,
        max_size=_MAX_BYTES,
        ends_between=lambda before, row: row.origin.sent_at - before.origin.sent_at > _MAX_GAP_MILLIS,
    )


def _write(group: Sequence[Row], table: TableSpec, objects: ObjectStore) -> Hint:
    sent_at = group[0].origin.sent_at
    first, last = min(row.origin.earliest for row in group), max(row.origin.latest for row in group)
    key = RowObject(len(group), first, last).new_key(table.table_key.prefix, sent_at)
    body = "".join(f"{row.line}\n" for row in group).encode()
    objects.put(table.table_key.bucket, key, body)
    time = from_millis(sent_at).isoformat(timespec="milliseconds")
    return Hint(key, RowsSent(time), len(body))
