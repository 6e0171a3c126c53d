"""Ingest: the objects that a list names become hints, whether or not an event announced them.

Such hints come after all others of their table, so a first load of many objects does not delay new files
(docs/decisions/0254-objects-that-a-list-names.md).
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.manifest import split_into_manifests
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import BadValue, DataError
from tidegate.platform.core.keys.object_key import decode_possible_key
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.route import NoRoute, route
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.lake import Lake

#: Lines whose hints are written together, at most. So a list with objects of many tables gives each fewer manifests.
LINES_AT_ONCE = 100_000
#: Hints of one manifest, at most, and the share of what a batch of the table may have: a few new files leave it room. A
#: batch takes one of these manifests, and asks S3 for all its objects, whatever they turn out to have.
_MAX_HINTS, _SHARE_OF_BATCH = 1000, 10
#: Seconds for which the rate is bounded.
_BOUNDED_SECONDS = 60
#: Reasons that are counted one by one. A reason can name a folder, and a list can name any number of them.
_MAX_REASONS = 1000
_OTHER_REASONS = "other reasons"


@dataclass
class WithoutTable:
    """Objects of a list that belong to no table for one reason.

    Attributes:
        objects: their number.
        first: address of the first one.
    """

    objects: int
    first: str


@dataclass
class ListedObjects:
    """The objects that a list names, as far as it was read.

    Attributes:
        lines: number of the last line.
        tables: number of objects by table key.
        new: keys of the tables that do not exist yet.
        without_table: the other objects, by reason.
    """

    lines: int = 0
    tables: dict[str, int] = field(default_factory=dict)
    new: set[str] = field(default_factory=set)
    without_table: dict[str, WithoutTable] = field(default_factory=dict)

    @property
    def objects(self) -> int:
        """Number of objects that belong to tables."""
        return sum(self.tables.values())

    def add_without_table(self, why: str, address: S3Address) -> None:
        """Count an object without a table."""
        if why not in self.without_table and len(self.without_table) >= _MAX_REASONS:
            why = _OTHER_REASONS
        self.without_table.setdefault(why, WithoutTable(0, address.s3)).objects += 1


@dataclass(frozen=True)
class IngestRequest:
    """A list of objects that a person wants to be ingested.

    Attributes:
        by: the user who asked.
        name: name of the list, for messages.
        after_line: lines up to this one were ingested before.
        rate: objects per second.
        log: called with each line of progress.
        sleep: waits, in seconds.
    """

    by: str
    name: str
    after_line: int = 0
    rate: int = 500
    log: Callable[[str], None] = field(default=lambda _: None, repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)


def read_addresses(lines: Iterable[bytes], name: str, after_line: int = 0) -> Iterator[tuple[int, S3Address]]:
    """Yield each line's number and the address on it. Empty lines are skipped.

    Args:
        lines: each has `s3://bucket/key`, as it is or as the only cell of a CSV line.
        name: name of the list, for messages.
        after_line: lines up to this one are skipped.

    Raises:
        DataError: a line is not such an address. The message names the list and the line.
    """
    for number, line in enumerate(lines, 1):
        text = line.rstrip(b"\r\n")
        if number > after_line and text:
            try:
                yield number, _address(text)
            except (ValueError, csv.Error) as error:
                raise DataError(
                    f"line {number} of {name}: {error}. Each line names one object: s3://bucket/key, with the key "
                    "as it is, not encoded"
                ) from None


def _address(line: bytes) -> S3Address:
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadValue(f"its bytes are not UTF-8 from position {error.start} on") from None
    if text.startswith('"'):
        cells = next(csv.reader([text], strict=True))
        if len(cells) != 1:
            raise BadValue(f"it has {len(cells)} cells")
        (text,) = cells
    address = S3Address.parse(text)
    decode_possible_key(address.key)
    return address


def read_list(lake: Lake, lines: Iterable[bytes], request: IngestRequest) -> ListedObjects:
    """Return which objects of a list belong to which tables. Nothing is changed.

    Raises:
        DataError: see `read_addresses`.
        StoreError: S3 does not answer.
    """
    return _Ingest(lake, request).read(lines, lambda: None)


def ingest(lake: Lake, lines: Iterable[bytes], request: IngestRequest) -> ListedObjects:
    """Put hints of the objects that a list names into the inbox. The intake requests runs for them.

    A line that is ingested again costs its table one request for the object, and adds no row.

    Raises:
        DataError: see `read_addresses`. The lines before are in the inbox.
        StoreError: S3 does not answer.
    """
    address = lake.store.operations.put("ingest", request.by, list=request.name, after_line=request.after_line)
    request.log(f"logged as {address}")
    ingested = _Ingest(lake, request)
    return ingested.read(lines, ingested.write)


class _Ingest:
    """One reading of a list."""

    def __init__(self, lake: Lake, request: IngestRequest) -> None:
        self._lake, self._request = lake, request
        self._config: LakeConfig = lake.config
        self._known = {TableKey.decode(table_key) for table_key in lake.store.table_births()}
        self._found = ListedObjects(lines=request.after_line)
        self._hints: dict[str, list[Hint]] = {}
        self._part = self._written = 0
        self._lines_at_once = min(LINES_AT_ONCE, request.rate * _BOUNDED_SECONDS)

    def read(self, lines: Iterable[bytes], each_part: Callable[[], None]) -> ListedObjects:
        """Read the list.

        Args:
            each_part: called after each part of the list, and at its end or a line that is not valid.
        """
        try:
            for number, address in read_addresses(lines, self._request.name, self._request.after_line):
                self._found.lines = number
                self._add(address)
                if self._part >= self._lines_at_once:
                    each_part()
                    self._hints.clear()
                    self._part = 0
        except DataError:
            each_part()
            raise
        each_part()
        return self._found

    def _add(self, address: S3Address) -> None:
        found = route(address.bucket, address.key, self._config, self._known)
        if isinstance(found, NoRoute):
            self._found.add_without_table(found.why, address)
            return
        key = found.table.encode()
        if found.table not in self._known and self._config.table_for(found.table) is None:
            self._found.new.add(key)
        self._found.tables[key] = self._found.tables.get(key, 0) + 1
        self._hints.setdefault(key, []).append(Hint(address.key))
        self._part += 1

    def write(self) -> None:
        """Write the hints that were read, and wait as long as the rate asks for."""
        if self._written and self._part:
            self._request.sleep(self._lines_at_once / self._request.rate)
        for key, hints in self._hints.items():
            share = self._config.settings(TableKey.decode(key)).max_files // _SHARE_OF_BATCH
            max_hints = min(_MAX_HINTS, max(1, share))
            self._lake.store.inbox.put(split_into_manifests(key, "ingest", hints, max_hints))
            seam("ingest-manifest")
        self._written += self._part
        self._request.log(
            f"{self._written} objects are in the inbox, up to line {self._found.lines} of {self._request.name}. "
            f"To continue from here: --after-line {self._found.lines}"
        )
