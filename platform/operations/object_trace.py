"""Trace: the way of an object from S3 to its table, or where it waits and why."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.cloud.arns import Address
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.ledger import SETTLED, Cause, Status, without_folder
from tidegate.platform.core.bronze.manifest import Manifest, comes_last
from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone, S3Unavailable, same_bytes
from tidegate.platform.core.config.after_load import move_target
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.route import Routed, route, rows_route
from tidegate.platform.core.times import from_micros, from_millis, parse_time
from tidegate.platform.core.wording import command, first_line
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.lake_root.batches import Batches
from tidegate.platform.lake.lake_root.held_events import Held
from tidegate.platform.lake.lake_root.inbox import TableInbox
from tidegate.platform.lake.lake_root.logs import IntakeLog
from tidegate.platform.lake.ledger import Decision
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.operations.event_routes import trace_forwarding

#: Manifests of the table's inbox that are read.
_MAX_MANIFESTS = 1_000


@dataclass(frozen=True)
class Stop:
    """A stop on the object's way.

    Attributes:
        what: the place, in a word or two.
        detail: what is recorded there.
        at: time of the stop, if it is known.
    """

    what: str
    detail: str
    at: datetime | None = None


@dataclass(frozen=True)
class Trace:
    """The way of an object.

    Attributes:
        stops: the stops, in their order.
        verdict: whether the table has the object's present bytes, and what to do if it does not.
        waits_for: key of the table whose next run decides the object. None if the object does not wait.
    """

    stops: tuple[Stop, ...]
    verdict: str
    waits_for: str | None = None


@dataclass(frozen=True)
class _ObjectRecords:
    """The records of an object that belongs to a table."""

    table: Table
    probe: Probe
    decisions: Sequence[Decision]
    undecided: Sequence[Stop]
    held: Sequence[Stop]
    missed: Sequence[Stop]

    @property
    def name(self) -> str:
        name = self.table.birth.name if self.table.birth else self.table.spec.name
        return f"the output of {name}" if self.is_output else f"bronze.{name}"

    @property
    def is_output(self) -> bool:
        return self.table.birth is not None and self.table.birth.output is not None

    @property
    def last(self) -> Decision | None:
        """The last decision that is not a duplicate's."""
        decisions = [decision for decision in self.decisions if decision.row.status is not Status.DUPLICATE]
        return decisions[-1] if decisions else None


def trace(lake: Lake, bucket: str, key: str) -> Trace:
    """Follow an object from S3 to its table.

    Args:
        bucket: bucket of the object.
        key: key of the object, decoded.

    Raises:
        StoreError: S3 did not answer.
    """
    probe = lake.store.objects.head(bucket, key)
    stops = [Stop("S3", _describe_probe(probe), _modified_time(probe))]
    known = {TableKey.decode(table_key) for table_key in lake.store.table_keys()}
    found = rows_route(bucket, key, lake.config) or route(bucket, key, lake.config, known)
    stops.append(Stop("route", found.why))
    if events := trace_forwarding(lake.config, bucket, key, lake.store.objects.tags):
        stops += [Stop("event type", events.type), Stop("forwarded", events.routes)]
    if not isinstance(found, Routed):
        stops += _entries_without_table(lake.store.intake_log, bucket, key)
        return Trace(tuple(stops), "it belongs to no table, see the route")
    table = lake.table(found.table.encode())
    version, n = table.ledger.clock()
    undecided = [*_ledger_decisions(table.batches, table.delta, n, key), *_waiting_events(table.inbox, key, "inbox")]
    undecided += _event_stops(lake.store.gathered.table_manifests(table.table_key), key, "gathered")
    held = list(_waiting_events(lake.store.held.table_inbox(table.table_key), key, "held")) or _held_stops(
        lake.store.held, table.table_key, table.birth
    )
    decisions = table.ledger.history(version, key)
    # An event that came while no table took the object is in the log of the day alone: it is not repeated.
    missed = [] if decisions else list(_entries_without_table(lake.store.intake_log, bucket, key))
    way = _ObjectRecords(table, probe, decisions, undecided, held, missed)
    stops += missed
    for decision in way.decisions:
        stamp = decision.stamp
        stops.append(Stop(f"batch {stamp.n}", _decision_detail(way, decision), from_micros(stamp.recorded_at)))
    return Trace(
        (*stops, *way.undecided, *way.held), _verdict(lake, way, key), table.table_key if way.undecided else None
    )


def _describe_probe(probe: Probe) -> str:
    match probe:
        case S3Found():
            return f"{probe.size} bytes, etag {probe.etag}"
        case S3Gone():
            return "no such object"
        case S3Forbidden():
            return f"S3 denies access to it (403): {probe.detail}"
    return f"S3 does not answer now: {probe.detail}"


def _modified_time(probe: Probe) -> datetime | None:
    return from_millis(probe.modification_time) if isinstance(probe, S3Found) else None


def _entries_without_table(intake_log: IntakeLog, bucket: str, key: str) -> Iterator[Stop]:
    """Yield the entries of the object in today's intake log."""
    for entry in intake_log.entries(datetime.now(UTC).strftime("%Y-%m-%d")):
        for event in entry.unrouted:
            if event.subject == S3Address(bucket, key):
                of_type = f" of the type {event.event_type}" if event.event_type else ""
                yield Stop("intake log", f"event {event.event_id}{of_type} counted as {event.outcome}: {event.reason}")


def _ledger_decisions(batches: Batches, delta: Delta, n: int, key: str) -> Iterator[Stop]:
    batch = batches.read(n + 1)
    rows = [row for row in batch.rows if row.key == key] if batch else []
    if batch is None or not rows:
        return
    how_far = f"{_describe_landing(delta, batch)}. The next run of the table continues with that batch"
    at = parse_time(batch.decided_at) if batch.decided_at else None
    for row in rows:
        decided = f"run {batch.run_id or 'unknown'} decided that it is {row.status}"
        yield Stop(f"batch {batch.n}", f"{decided}, and {how_far}", at)


def _describe_landing(delta: Delta, batch: Batch) -> str:
    """Return how far a batch came that is not in the ledger."""
    if not batch.commits:
        return "the batch is not in the ledger: that run is still active, or failed"
    if (delta.table_state(batch.location, batch.app_id).txn or 0) >= batch.n:
        return "the batch was committed, but is not in the ledger: that run is still active, or failed after its commit"
    return "the batch was not committed: that run is still active, or failed in or before its commit"


def _waiting_events(inbox: TableInbox, key: str, name: str) -> Iterator[Stop]:
    """Yield the events of the object that wait in a folder of manifests, which has a name."""
    # New files first: a list may have millions of hints.
    waiting = sorted(inbox.waiting_manifests(), key=lambda manifest: comes_last(manifest.id))
    since = {manifest.id: manifest.since for manifest in waiting[:_MAX_MANIFESTS]}
    yield from _event_stops(((manifest, since[manifest.id]) for manifest in inbox.read(since)), key, name)


def _event_stops(manifests: Iterable[tuple[Manifest, float]], key: str, name: str) -> Iterator[Stop]:
    """Yield the events of the object in manifests, each of which has waited since some epoch seconds."""
    for manifest, since in manifests:
        for hint in manifest.hints:
            if hint.key == key:
                event = f" (event {hint.event_id})" if hint.event_id else ""
                of_type = f" of the type {hint.event_type}" if hint.event_type else ""
                yield Stop(
                    name,
                    f"{hint.cause.name}{event}{of_type} waits in manifest {manifest.id}, from {manifest.origin}",
                    datetime.fromtimestamp(since, UTC),
                )


def _held_stops(held: Held, table_key: str, birth: Birth | None) -> list[Stop]:
    """Return that a folder waits to be listed, if it does: its events beyond the first are not kept."""
    found = None if birth else held.look(table_key)
    if found is None or not (found.more or found.listing):
        return []
    return [Stop("held", "more events of its folder came than are kept: its objects are listed once it may be a table")]


def _decision_detail(way: _ObjectRecords, decision: Decision) -> str:
    row, stamp = decision.row, decision.stamp
    parts = [f"{row.status} by run {stamp.run_id or 'unknown'}"]
    if row.status is Status.COMMITTED:
        version = "" if way.is_output else f" as of version {stamp.bronze_version}"
        parts.append(f"{row.rows} rows in {way.name}{version}")
    if row.removed_rows is not None:
        parts.append(f"{row.removed_rows} earlier rows left {way.name}")
    if row.etag:
        parts.append(f"etag {row.etag}")
    event = f"{row.event_name or 'no event'} {row.event_id or ''}".strip()
    parts.append(f"{event}, manifest {row.manifest}" if row.manifest else event)
    if row.event_type:
        parts.append(f"event type {row.event_type}")
    reason = row.reason or ""
    if row.bad_rows_folder:
        parts.append(f"its bad rows are in {row.bad_rows_folder}")
        reason = without_folder(reason)
    return "; ".join(parts) + (f": {reason}" if reason else "")


def _verdict(lake: Lake, way: _ObjectRecords, key: str) -> str:
    if way.undecided:
        return (
            f"it waits for the next run of {way.table.table_key}: the sensor requests a run within "
            f"{way.table.spec.window} seconds, or materialize that partition of bronze"
        )
    if way.held:
        return (
            "its folder is not a table yet, because the day had as many new tables as `discovery` allows: the first "
            f"tick of each day (UTC) makes tables of such folders. To have it now, name {way.table.key.uri} in "
            "lake.yaml"
        )
    last = way.last
    if isinstance(way.probe, S3Forbidden | S3Unavailable) and (
        last is None or last.row.status is not Status.QUARANTINED
    ):
        return _explain_unseen(way, key)
    present = way.probe if isinstance(way.probe, S3Found) else None
    if last is None:
        return _explain_unannounced(lake, way)
    if last.row.status is Status.QUARANTINED and (
        present is None or last.row.etag is None or same_bytes(present, last.row)
    ):
        return f"it is in quarantine; fix the cause, then: {redrive_of(way.table.table_key, key)}"
    if isinstance(way.probe, S3Gone):
        if last.row.status is Status.MOVED:
            folder = move_target(way.table.spec.after_load)
            return f"it was {f'moved to {folder}' if folder else 'removed by after_load'} once it was in {way.name}"
        if last.row.status in SETTLED:
            return f"it is gone, and no event announced that: materialize the partition {way.table.table_key}"
        registered = way.table.birth is not None and way.table.birth.registered
        follows = registered or last.row.removed_rows is not None
        return f"it is gone, and {way.name} knows: " + ("its rows left with it" if follows else "loaded rows stay")
    if last.row.status is Status.WAITING and present is not None and same_bytes(present, last.row):
        return f"it is not in {way.name} yet: {last.row.reason}"
    if last.row.status is Status.COMPLETE and present is not None and same_bytes(present, last.row):
        return f"it is a completion signal, and its files are in {way.name}: {last.row.reason}"
    if last.row.cause is Cause.LEFT and present is not None and same_bytes(present, last.row):
        return f"its rows left {way.name} before that table was adopted, and these bytes never bring them back"
    rows_stay = last.row.status in SETTLED or (last.row.status is Status.REMOVED and last.row.etag is not None)
    if rows_stay and present is not None and same_bytes(present, last.row):
        since = f"batch {last.stamp.n}" if way.is_output else f"version {last.stamp.bronze_version}"
        return f"its present bytes are in {way.name} since {since}"
    return f"its present bytes are not in {way.name}, and no event announced them. {_remedy(lake, way)}"


def _explain_unseen(way: _ObjectRecords, key: str) -> str:
    """Return the verdict on an object whose present bytes S3 does not show."""
    unknown = f"it is unknown whether {way.name} has its present bytes"
    if isinstance(way.probe, S3Forbidden):
        # Without s3:ListBucket, S3 also answers 403 if there is no such object.
        bucket = Address.from_config(way.table.lake.config).bucket(way.table.key.bucket)
        return f"{unknown}: allow s3:GetObject on {bucket}/{key} and s3:ListBucket on {bucket}, and trace it again"
    return f"{unknown}: trace it again when S3 answers"


def _explain_unannounced(lake: Lake, way: _ObjectRecords) -> str:
    if isinstance(way.probe, S3Gone):
        return "there is no record of such an object"
    if way.missed:
        return (
            f"it is not in {way.name}: its event came when no table took it, and is not repeated. A run that "
            f"materializes the partition {way.table.table_key} of bronze lists the prefix and finds it"
        )
    return f"it is not in {way.name}, and no event announced it. {_remedy(lake, way)}"


def _remedy(lake: Lake, way: _ObjectRecords) -> str:
    queues = ", ".join(map(_depth, lake.queues))
    known = way.table.birth is not None or lake.config.table_for(way.table.key) is not None
    partition = f"the partition {way.table.table_key} of bronze"
    # Dagster has no partition for a folder from which no event came yet.
    then = "" if known else f"No event came from its folder: add {partition} in Dagster (*Add a partition*) first. "
    return (
        f"Its message may wait in a queue ({queues}); `tidegate check` says whether the bucket notifies one. "
        f"{then}A run that materializes {partition} lists the prefix and finds it"
    )


def _depth(queue: Queue) -> str:
    try:
        waiting, flight = queue.depth()
    except (BotoCoreError, ClientError) as error:
        return f"{queue.name} does not answer: {first_line(error)}"
    return f"{queue.name} has {waiting} messages and {flight} in flight"


def redrive_of(table: str, key: str) -> str:
    """Return the command that redrives one object of a table. Its option takes a glob."""
    return command("redrive", table, "--key", glob.escape(key), "--yes")
