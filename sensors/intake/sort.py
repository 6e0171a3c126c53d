"""What the messages of a tick say, sorted: hints by table, and what is no table's."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Gone
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.events.s3_event import Reject, S3Event, parse_body
from tidegate.platform.core.first_line import first_line
from tidegate.platform.core.keys.object_key import is_of_a_commit
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.route import Route, Routed, Unrouted, route
from tidegate.resources.aws.s3 import ObjectStore, StoreError
from tidegate.resources.aws.sqs import Message
from tidegate.resources.threads import parallel

#: Objects that are asked for before a folder is no table because they are all gone.
_MAX_PROBE_OBJECTS = 1_000


@dataclass
class Intake:
    """What one tick received.

    Attributes:
        hints: by table.
        counters: events that are no table's, by outcome.
        rows: the intake log's rows for them, but for what commits write, which is only counted.
        rejects: what could not be understood, until it is kept.
        received: events, tests included.
        failures: why a queue could not be drained, by its name.
    """

    hints: dict[TableKey, list[Hint]] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    received: int = 0
    failures: dict[str, Exception] = field(default_factory=dict)

    def count(self, outcome: str, by: int = 1) -> None:
        """Count events that end here."""
        self.counters[outcome] = self.counters.get(outcome, 0) + by

    def add(self, other: "Intake") -> None:
        """Count what another part of the tick received to this one's."""
        for table, hints in other.hints.items():
            self.hints.setdefault(table, []).extend(hints)
        for outcome, number in other.counters.items():
            self.count(outcome, number)
        self.rows += other.rows
        self.rejects += other.rejects
        self.received += other.received
        self.failures |= other.failures


def sort_messages(
    messages: Sequence[Message],
    config: LakeConfig,
    known: set[TableKey],
    rejected: Collection[TableKey] = (),
    room: float = math.inf,
) -> Intake:
    """Parse messages and route their events; pure.

    A message on which this fails, which none should, is malformed: it never keeps the others from their tables.

    Args:
        messages: as received.
        config: the lake.
        known: tables that exist; those discovered here are added to it.
        rejected: what is not to be discovered, for nothing that the messages tell of is there.
        room: tables that may be discovered.
    """
    tables = set(known)
    try:
        intake = _sorted(messages, config, tables, rejected, room)
    except Exception:
        tables = set(known)
        intake = Intake()
        for message in messages:
            intake.add(_sorted_alone(message, config, tables, rejected, room - discovered(tables - known, config)))
    known |= tables
    return intake


def _sorted_alone(
    message: Message, config: LakeConfig, known: set[TableKey], rejected: Collection[TableKey], room: float
) -> Intake:
    tables = set(known)
    try:
        intake = _sorted([message], config, tables, rejected, room)
    except Exception as error:
        why = f"reading it failed, please report it: {type(error).__name__}: {first_line(error)}"
        return Intake(counters={"malformed": 1}, rejects=[Reject(f"{message.id}#0", why, message.body)], received=1)
    known |= tables
    return intake


def _sorted(
    messages: Sequence[Message],
    config: LakeConfig,
    known: set[TableKey],
    rejected: Collection[TableKey],
    room: float,
) -> Intake:
    intake = Intake()
    for message in messages:
        parsed = parse_body(message.body, message.id)
        intake.received += parsed.received
        if parsed.tests:
            intake.count("test", parsed.tests)
        for reject in parsed.rejects:
            intake.count("malformed", reject.records)
            intake.rejects.append(reject)
        for event in parsed.events:
            found = route(event.bucket, event.key, config, known)
            if isinstance(found, Routed) and found.table in rejected:
                found = Unrouted("no_table", f"it is gone, and {found.table.uri} becomes no table for what is gone")
            elif isinstance(found, Routed) and found.table not in known and config.table_for(found.table) is None:
                if room <= 0:
                    found = Unrouted("no_table", _too_many(found.table, config))
                else:
                    room -= 1
            _sort_event(intake, event, found, known)
    return intake


def _too_many(table: TableKey, config: LakeConfig) -> str:
    most = config.discovery.per_day if config.discovery else 0
    return (
        f"lake.yaml lets {most} new tables a day come by themselves (`discovery`: `per_day`), and today has had as "
        f"many, so its folder {table.uri} becomes none; if it should be one, add a table with this prefix to "
        "lake.yaml, or raise `per_day` and wait for its next file, then materialize its partition, which takes in what "
        "is there already"
    )


def discovered(tables: Iterable[TableKey], config: LakeConfig) -> int:
    """How many of these tables are tables by discovery."""
    return sum(config.table_for(table) is None for table in tables)


def _sort_event(intake: Intake, event: S3Event, found: Route, known: set[TableKey]) -> None:
    if isinstance(found, Routed):
        known.add(found.table)
        intake.hints.setdefault(found.table, []).append(
            Hint(
                event.key,
                event.event_id,
                event.event_name,
                event.event_time.isoformat() if event.event_time else None,
                event.version_id,
                event.sequencer,
                size=event.size,
            )
        )
        return
    intake.count(found.outcome)
    if found.outcome == "own_file" and is_of_a_commit(event.key):
        return  # Each commit to a registered table tells of some: rows of them would fill the log.
    intake.rows.append(
        {
            "event_id": event.event_id,
            "outcome": found.outcome,
            "reason": found.why,
            "bucket": event.bucket,
            "key": event.key,
        }
    )


def route_messages(
    messages: Sequence[Message],
    config: LakeConfig,
    known: set[TableKey],
    objects: ObjectStore,
    room: float = math.inf,
) -> Intake:
    """Sort messages; a folder becomes a table only if an object in it, of which they tell, is there.

    Else what came and went would leave an empty partition, and keep what lies beside it from becoming a table.

    Args:
        messages: as received.
        config: the lake.
        known: tables that exist; those discovered here are added to it.
        objects: handle on S3; asked only about folders that would become tables.
        room: tables that may be discovered.
    """
    confirmed: set[TableKey] = set()
    rejected: set[TableKey] = set()
    while True:
        tables = set(known)
        # What is gone must not use up the room, and with none left nobody needs to ask.
        intake = sort_messages(messages, config, tables, rejected, math.inf if room > 0 else 0)
        new = {table: intake.hints[table] for table in tables - known - confirmed if config.table_for(table) is None}
        gone = _gone(objects, new)
        confirmed |= new.keys() - gone
        rejected |= gone
        if not gone:
            if len(confirmed) > room:
                tables = set(known)
                intake = sort_messages(messages, config, tables, rejected, room)
            known |= tables
            return intake
        # What the folders that are none stood in the way of is routed anew.


def _gone(objects: ObjectStore, told: Mapping[TableKey, Sequence[Hint]]) -> set[TableKey]:
    """The tables of whose objects none is there, as far as S3 says so."""
    # The last one told of is the likeliest to be there, and one is enough.
    keys = {table: list(dict.fromkeys(hint.key for hint in reversed(hints))) for table, hints in told.items()}
    few = [table for table in keys if len(keys[table]) <= _MAX_PROBE_OBJECTS]
    first = parallel(lambda table: (table, objects.head(table.bucket, keys[table][0])), few)
    return {
        table
        for table, probe in first
        if isinstance(probe, S3Gone)
        and all(isinstance(other, S3Gone) for other in objects.head_many(table.bucket, keys[table][1:]).values())
        and _is_there(objects, table.bucket)
    }


def _is_there(objects: ObjectStore, bucket: str) -> bool:
    try:
        return objects.bucket_exists(bucket)
    except StoreError:
        return False
