"""Parses the messages of event queues and routes their events: hints by table, and events without a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.object_state import S3Gone
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.events.s3_event import ParsedBody, Reject, S3Event, parse_body
from tidegate.platform.core.keys.object_key import is_of_a_commit
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.discovery import NewTables, gone_reason, limit_reason
from tidegate.platform.core.routing.route import NoRoute, Route, Routed, route
from tidegate.platform.core.routing.unrouted_events import Unrouted
from tidegate.platform.core.wording import first_line
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.s3 import ObjectStore, StoreError
from tidegate.platform.lake.threads import parallel

#: Objects for which S3 is asked before folders become tables: of all folders together, and of each at least.
_MAX_PROBES, _MIN_PROBES = 1_000, 32


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """A message and the events in its body."""

    message: Message
    body: ParsedBody


def parse_messages(messages: Sequence[Message]) -> list[ParsedMessage]:
    """Parse the bodies of messages. Pure.

    If parsing raises unexpectedly, the message is rejected. The other messages are not affected.
    """
    return [_parse(message) for message in messages]


def _parse(message: Message) -> ParsedMessage:
    try:
        return ParsedMessage(message, parse_body(message.body, message.id))
    except Exception as error:
        return reject_message(message, error)


def reject_message(message: Message, error: Exception) -> ParsedMessage:
    """Return what is parsed of a message on which the code stumbles: one reject."""
    return ParsedMessage(message, ParsedBody(rejects=[_malformed_reject(message, error)]))


def _malformed_reject(message: Message, error: Exception) -> Reject:
    why = f"reading it failed, please report it: {type(error).__name__}: {first_line(error)}"
    return Reject(f"{message.id}#0", why, message.body, attributes=message.attributes)


def route_events(
    parsed: Sequence[ParsedMessage],
    config: LakeConfig,
    known: set[TableKey],
    rejected: Collection[TableKey] = (),
    new: NewTables | None = None,
) -> IntakeResult:
    """Route the events of messages. Pure.

    A message on which the routing fails, which none should, is malformed: it never keeps the others from their tables.

    Args:
        known: tables that exist. Tables that are discovered here are added.
        rejected: folders that must not become tables, because all their objects in these messages are gone.
        new: how many tables may be discovered. Those that are take their room. None: there is no limit.
    """
    tables, tried = set(known), new and new.copy()
    try:
        intake = _route_all(parsed, config, tables, rejected, tried)
    except Exception:
        tables, tried = set(known), new and new.copy()
        intake = IntakeResult()
        for message in parsed:
            alone, took = set(tables), tried and tried.copy()
            try:
                intake.add(_route_all([message], config, alone, rejected, took))
            except Exception as error:
                reject = _malformed_reject(message.message, error)
                intake.add(IntakeResult(counters={"malformed": 1}, rejects=[reject], received=1))
                continue
            tables, tried = alone, took
    known |= tables
    if new and tried:
        new.become(tried)
    return intake


def _route_all(
    parsed: Sequence[ParsedMessage],
    config: LakeConfig,
    known: set[TableKey],
    rejected: Collection[TableKey],
    new: NewTables | None,
) -> IntakeResult:
    intake = IntakeResult()
    for message, body in ((parsed_message.message, parsed_message.body) for parsed_message in parsed):
        intake.received += body.received
        if body.tests:
            intake.count("test", body.tests)
        for reject in body.rejects:
            intake.count("malformed", reject.records)
            intake.rejects.append(replace(reject, attributes=message.attributes))
        for event in body.events:
            found = route(event.bucket, event.key, config, known)
            if isinstance(found, Routed) and found.table in rejected:
                found = NoRoute("no_table", gone_reason(found.table))
            elif new and isinstance(found, Routed) and _is_new(found.table, config, known):
                fate = new.take(found.table)
                if fate == "waits":
                    intake.held.setdefault(found.table, []).append(_hint(event))
                if fate != "new":
                    found = NoRoute("no_table", limit_reason(found.table, config, waits=fate == "waits"))
            _add_event(intake, event, found, known)
    return intake


def _is_new(table: TableKey, config: LakeConfig, known: Collection[TableKey]) -> bool:
    return table not in known and config.table_for(table) is None


def _add_event(intake: IntakeResult, event: S3Event, found: Route, known: set[TableKey]) -> None:
    if isinstance(found, Routed):
        known.add(found.table)
        intake.hints.setdefault(found.table, []).append(_hint(event))
        return
    intake.count(found.outcome)
    if found.outcome == "own_file" and is_of_a_commit(event.key):
        return  # Each commit to a registered table has such events, and their rows would fill the log.
    named = S3Address(event.bucket, event.key)
    intake.unrouted.append(Unrouted(event.event_id, found.outcome, "", named, found.why))


def _hint(event: S3Event) -> Hint:
    time = event.event_time.isoformat() if event.event_time else None
    cause = Event(event.event_id, event.event_name, time, event.version_id, event.sequencer)
    return Hint(event.key, cause, event.size)


def route_messages(
    parsed: Sequence[ParsedMessage],
    config: LakeConfig,
    known: set[TableKey],
    objects: ObjectStore,
    new: NewTables | None = None,
) -> IntakeResult:
    """Route the events of messages. A folder becomes a table only if S3 still has one of its objects.

    Otherwise objects that came and went would leave an empty partition.

    Args:
        known: tables that exist. Tables that are discovered here are added.
        objects: handle on S3. It is asked only about folders that would become tables.
        new: how many tables may be discovered. Those that are take their room. None: there is no limit.
    """
    tables = set(known)
    intake = route_events(parsed, config, tables)
    # Deleted objects must not use up the room. Without any room, S3 need not be asked.
    folders = {
        table: intake.hints[table]
        for table in tables - known
        if config.table_for(table) is None and (new is None or new.fate(table) != "refused")
    }
    rejected = gone_folders(objects, folders)
    if not tables - known:
        return intake
    return route_events(parsed, config, known, rejected, new)


def gone_folders(objects: ObjectStore, events: Mapping[TableKey, Sequence[Hint]]) -> set[TableKey]:
    """Return the folders of whose objects none exists, as far as S3 was asked and answers.

    Whatever number of objects the events of a folder name, S3 is asked for some: an event costs its sender nothing.

    Args:
        events: hints by folder.
    """
    asked = {table: probed_keys(hints, len(events)) for table, hints in events.items()}
    first = parallel(lambda table: (table, objects.head(table.bucket, asked[table][0])), asked)
    return {
        table
        for table, probe in first
        if isinstance(probe, S3Gone)
        and all(isinstance(other, S3Gone) for other in objects.head_many(table.bucket, asked[table][1:]).values())
        and _bucket_exists(objects, table.bucket)
    }


def probed_keys(hints: Sequence[Hint], folders: int) -> list[str]:
    """Return the keys for which S3 is asked before a folder becomes a table: all, or if there are many, some. Pure.

    The object of the last event is the likeliest to exist, and one is enough. The others are spread over the events.

    Args:
        hints: hints of the folder.
        folders: how many folders would become tables.
    """
    keys = list(dict.fromkeys(hint.key for hint in reversed(hints)))
    share = max(_MIN_PROBES, _MAX_PROBES // folders)
    return keys[:: -(-len(keys) // share)]


def _bucket_exists(objects: ObjectStore, bucket: str) -> bool:
    try:
        return objects.bucket_exists(bucket)
    except StoreError:
        return False
