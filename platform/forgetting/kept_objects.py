"""What the lake keeps of rows in objects of its own: the texts of bad rows, and the messages of row queues."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial

from tidegate.platform.core.events.envelopes import MAX_TOPICS, published
from tidegate.platform.core.forgetting.mentions import mentions
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.forgetting.kept_lines import KeptLines
from tidegate.platform.forgetting.kept_row import KeptRow, parsed_object
from tidegate.platform.lake.aws.s3 import Listed, ObjectGone
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.suppression import Suppression
from tidegate.platform.lake.threads import parallel


@dataclass(frozen=True)
class KeptObject:
    """An object of the lake with lines, or a message, of forgotten subjects.

    Attributes:
        key: its key.
        place: folder below the lake root, as `tidegate forget` shows it.
        found: number of its lines that are of forgotten subjects; 1 for a message.
        rest: its lines, of which others stay; None if nothing is left.
    """

    key: str
    place: str
    found: int
    rest: KeptLines | None


def kept_objects(lake: Lake, table: Table, suppression: Suppression, *, since: float = 0.0) -> Iterator[KeptObject]:
    """Yield the objects of the lake that have something of forgotten subjects of a table. Nothing is changed.

    Args:
        lake: the lake.
        table: the table.
        suppression: the subjects, with the columns of the table.
        since: only objects that changed at this time or later, in epoch seconds by S3's clock.

    Raises:
        StoreError: S3 did not answer.
    """
    bad_rows = lake.store.key("quarantine", "rows", table.table_key, "")
    bad = partial(_rest_of_bad_row, suppression=suppression)
    yield from _with_lines(lake, bad_rows, "quarantine/rows", bad, since)
    if table.spec.row_queue:
        rows, judge = lake.store.key("rows", table.spec.name, ""), KeptRow(suppression, _columns(table))
        yield from _with_lines(lake, rows, "rows", judge.rest, since)
        for folder in ("messages", "redriven"):
            yield from _messages(lake, folder, _queues_of_others(lake, table), judge, since)


def _columns(table: Table) -> tuple[Field, ...]:
    """Return the columns of a bronze table, or those that lake.yaml gives it before its first batch."""
    birth = table.birth
    known = table.delta.table_state(birth.location).schema.fields if birth else ()
    return tuple(known) or tuple(Field(name, parse_sql_type(kind)) for name, kind in table.spec.columns.items())


def erase_kept_objects(lake: Lake, table: Table, suppression: Suppression, *, since: float = 0.0) -> int:
    """Take what is of forgotten subjects out of the objects of the lake. Returns the number of lines and messages.

    The arguments are as for `kept_objects`.

    Raises:
        StoreError: S3 did not answer.
    """
    objects, bucket, done = lake.store.objects, lake.store.bucket, 0
    for kept in kept_objects(lake, table, suppression, since=since):
        if kept.rest is None:
            objects.delete(bucket, [kept.key])
        else:
            kept.rest.keep_rest()
        done += kept.found
    return done


def _with_lines(
    lake: Lake, folder: str, place: str, rest_of: Callable[[str], str | None], since: float
) -> Iterator[KeptObject]:
    objects, bucket = lake.store.objects, lake.store.bucket

    def searched(item: Listed) -> KeptObject | None:
        version = S3Object(S3Address(bucket, item.key), item.etag)
        lines = KeptLines(objects, version, item.size, partial(_rest, rest_of=rest_of))
        try:
            found, stays = lines.count()
        except ObjectGone:
            return None
        return KeptObject(item.key, place, found, lines if stays else None) if found else None

    yield from filter(None, parallel(searched, _changed(lake, folder, since)))


def _queues_of_others(lake: Lake, table: Table) -> set[str]:
    """Return the names of the row queues of other tables. A queue of no table may be the earlier one of this table."""
    others = (spec.row_queue for spec in lake.config.tables if spec.name != table.spec.name)
    return {name for queue in others if queue for name in queue.names}


def _messages(lake: Lake, folder: str, others: Collection[str], judge: KeptRow, since: float) -> Iterator[KeptObject]:
    objects, bucket, root = lake.store.objects, lake.store.bucket, lake.store.key("quarantine", folder, "")

    def found(item: Listed) -> KeptObject | None:
        content = parsed_object((objects.get(bucket, item.key) or b"").decode("utf-8", "replace"))
        queue = (content.get("row") or {}).get("queue") if content else None
        if content is None or queue is None or queue in others:
            return None
        mentioned = any(judge.rest(text) != text for text in _unwrap_messages(str(content.get("body", ""))))
        return KeptObject(item.key, f"quarantine/{folder}", 1, None) if mentioned else None

    yield from filter(None, parallel(found, _changed(lake, root, since)))


def _unwrap_messages(body: str) -> Iterator[str]:
    """Yields the text of a message, and what is in SNS's envelopes: a queue without its topic keeps them closed."""
    for _ in range(MAX_TOPICS + 1):
        yield body
        try:
            body, publication = published(body)
        except ValueError:
            return
        if publication is None:
            return


def _changed(lake: Lake, folder: str, since: float) -> list[Listed]:
    """Returns the objects of a folder that changed at a time or later."""
    return [item for item in lake.store.objects.under(lake.store.bucket, folder) if item.modified >= since]


def _rest(line: bytes, rest_of: Callable[[str], str | None]) -> bytes | None:
    """Returns the line itself if nothing leaves it, also if it is no UTF-8."""
    text = line.decode("utf-8", "replace")
    rest = rest_of(text) if line else text
    return line if rest == text else rest.encode() if rest is not None else None


def _rest_of_bad_row(line: str, suppression: Suppression) -> str | None:
    content = parsed_object(line)
    texts = [line] if content is None else [str(content.get(name) or "") for name in ("raw", "reason")]
    return None if any(mentions(text, suppression.holds) for text in texts) else line
