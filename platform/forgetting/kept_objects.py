"""What the lake keeps of rows in objects of its own: the texts of bad rows, and the messages of row queues.

An object of lines is read and written again in little memory, whatever its size.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.events.envelopes import MAX_TOPICS, unwrap_publication
from tidegate.platform.core.forgetting.mentions import mentions
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.forgetting.row_redaction import KeptRow, parsed_object
from tidegate.platform.lake.aws.s3 import Listed, ObjectGone, ObjectStore
from tidegate.platform.lake.capacity import SMALL, TooLarge, name_full_disk, run_bounded
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.suppression import Suppression
from tidegate.platform.lake.threads import parallel

#: Bytes of one request. An object is read piece by piece: S3 would end an answer that is read for hours.
_PIECE = 1 << 20


@dataclass(frozen=True)
class KeptLines:
    """An object of JSON lines.

    Attributes:
        size: its bytes.
        rest_of: returns what stays of a line, without its end. None if nothing stays.
    """

    objects: ObjectStore
    version: S3Object
    size: int
    rest_of: Callable[[bytes], bytes | None]

    def count(self) -> tuple[int, bool]:
        """Return how many lines do not stay as they are, and whether any line stays.

        Memory holds a piece and a line. Its writers bound a line, and long ones are held one after another.

        Raises:
            ObjectChanged: the object has changed, or is gone.
            StoreError: S3 did not answer.
        """

        def count(max_line: int) -> tuple[int, bool]:
            found, stays = 0, False
            for line in self._lines(max_line):
                rest = self.rest_of(line)
                found += rest != line
                stays = stays or bool(rest)
            return found, stays

        return run_bounded(count, sys.maxsize, shared_max_bytes=SMALL)

    def keep_rest(self) -> None:
        """Replace the object by what stays of its lines. The object is complete at all times, and so is a repetition.

        Raises:
            UnavailableError: the disk is full.
            ObjectChanged: the object has changed, or is gone.
            StoreError: S3 did not answer.
        """
        wanted = (
            f"{S3Address(*self.version.address)} has to be written there without forgotten persons: free some of it, "
            "or set TMPDIR to a folder on another one, and run it again"
        )
        with name_full_disk(wanted), TemporaryDirectory(prefix="tidegate-rest-") as folder:
            file = Path(folder) / "rest"
            with file.open("wb") as target:
                for line in self._lines(sys.maxsize):
                    if (rest := self.rest_of(line)) is not None:
                        target.write(rest + b"\n")
            self.objects.upload(*self.version.address, file)

    def _lines(self, max_line: int) -> Iterator[bytes]:
        """Yield the lines without their ends.

        Raises:
            TooLarge: a line has more than `max_line` bytes.
        """
        begun: list[bytes] = []  # The pieces of a line that has not ended.
        held = 0
        for start in range(0, self.size, _PIECE):
            piece = self.objects.piece(self.version, start, min(_PIECE, self.size - start))
            *ended, last = piece.split(b"\n")
            for line in ended:
                yield b"".join([*begun, line])
                begun, held = [], 0
            begun.append(last)
            held += len(last)
            if held > max_line:
                raise TooLarge
        if held:
            yield b"".join(begun)


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


def kept_objects(
    config: LakeConfig, store: LakeStore, table: Table, suppression: Suppression, *, since: float = 0.0
) -> Iterator[KeptObject]:
    """Yield the objects of the lake that have something of forgotten subjects of a table. Nothing is changed.

    Args:
        suppression: the subjects, with the columns of the table.
        since: only objects that changed at this time or later, in epoch seconds by S3's clock.

    Raises:
        StoreError: S3 did not answer.
    """
    bad_rows = store.key("quarantine", "rows", table.table_key, "")
    bad = partial(_rest_of_bad_row, suppression=suppression)
    yield from _with_lines(store, bad_rows, "quarantine/rows", bad, since)
    if table.spec.row_queue:
        rows, judge = (
            store.key("rows", table.spec.name, ""),
            KeptRow(suppression, _columns(table.spec, table.birth, table.delta)),
        )
        yield from _with_lines(store, rows, "rows", judge.rest, since)
        for folder in ("messages", "redriven"):
            yield from _messages(store, folder, _queues_of_others(config, table), judge, since)


def _columns(spec: TableSpec, birth: Birth | None, delta: Delta) -> tuple[Field, ...]:
    """Return the columns of a bronze table, or those that lake.yaml gives it before its first batch."""
    known = delta.table_state(birth.location).schema.fields if birth else ()
    return tuple(known) or tuple(Field(name, parse_sql_type(kind)) for name, kind in spec.columns.items())


def erase_kept_objects(
    config: LakeConfig, store: LakeStore, table: Table, suppression: Suppression, *, since: float = 0.0
) -> int:
    """Take what is of forgotten subjects out of the objects of the lake. Returns the number of lines and messages.

    The arguments are as for `kept_objects`.

    Raises:
        StoreError: S3 did not answer.
    """
    objects, bucket, done = store.objects, store.bucket, 0
    for kept in kept_objects(config, store, table, suppression, since=since):
        if kept.rest is None:
            objects.delete(bucket, [kept.key])
        else:
            kept.rest.keep_rest()
        done += kept.found
    return done


def _with_lines(
    store: LakeStore, folder: str, place: str, rest_of: Callable[[str], str | None], since: float
) -> Iterator[KeptObject]:
    objects, bucket = store.objects, store.bucket

    def search_object(item: Listed) -> KeptObject | None:
        version = S3Object(S3Address(bucket, item.key), item.etag)
        lines = KeptLines(objects, version, item.size, partial(_rest_of_line, rest_of=rest_of))
        try:
            found, stays = lines.count()
        except ObjectGone:
            return None
        return KeptObject(item.key, place, found, lines if stays else None) if found else None

    yield from filter(None, parallel(search_object, _changed_objects(store, folder, since)))


def _queues_of_others(config: LakeConfig, table: Table) -> set[str]:
    """Return the names of the row queues of other tables. A queue of no table may be the earlier one of this table."""
    others = (spec.row_queue for spec in config.tables if spec.name != table.spec.name)
    return {name for queue in others if queue for name in queue.names}


def _messages(
    store: LakeStore, folder: str, others: Collection[str], judge: KeptRow, since: float
) -> Iterator[KeptObject]:
    objects, bucket, root = store.objects, store.bucket, store.key("quarantine", folder, "")

    def find_mentions(item: Listed) -> KeptObject | None:
        content = parsed_object((objects.get(bucket, item.key) or b"").decode("utf-8", "replace"))
        queue = (content.get("row") or {}).get("queue") if content else None
        if content is None or queue is None or queue in others:
            return None
        mentioned = any(judge.rest(text) != text for text in _unwrap_messages(str(content.get("body", ""))))
        return KeptObject(item.key, f"quarantine/{folder}", 1, None) if mentioned else None

    yield from filter(None, parallel(find_mentions, _changed_objects(store, root, since)))


def _unwrap_messages(body: str) -> Iterator[str]:
    """Yield the text of a message, and what is in SNS's envelopes: a queue without its topic keeps them closed."""
    for _ in range(MAX_TOPICS + 1):
        yield body
        try:
            body, publication = unwrap_publication(body)
        except ValueError:
            return
        if publication is None:
            return


def _changed_objects(store: LakeStore, folder: str, since: float) -> list[Listed]:
    """Return the objects of a folder that changed at a time or later."""
    return [item for item in store.objects.list_under(store.bucket, folder) if item.modified >= since]


def _rest_of_line(line: bytes, rest_of: Callable[[str], str | None]) -> bytes | None:
    """Return the line itself if nothing leaves it, also if it is not UTF-8."""
    text = line.decode("utf-8", "replace")
    rest = rest_of(text) if line else text
    return line if rest == text else rest.encode() if rest is not None else None


def _rest_of_bad_row(line: str, suppression: Suppression) -> str | None:
    content = parsed_object(line)
    texts = [line] if content is None else [str(content.get(name) or "") for name in ("raw", "reason")]
    return None if any(mentions(text, suppression.holds) for text in texts) else line
