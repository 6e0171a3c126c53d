"""Trace: one object's way from S3 to its table, or where it waits and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.ledger import SETTLED, Status
from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.bronze.same_bytes import same_bytes
from tidegate.platform.core.config.after_load import moves_to
from tidegate.platform.core.first_line import first_line
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.route import Routed, route, rows_route
from tidegate.resources.aws.sqs import Queue
from tidegate.resources.lake import Lake, Table
from tidegate.resources.ledger import Decision

#: Manifests of the table's inbox that are looked into.
_MOST_MANIFESTS = 1_000


@dataclass(frozen=True)
class Stop:
    """A place on the object's way.

    Attributes:
        what: where that is, in a word or two.
        detail: what is known there.
        at: when it was there, if that is known.
    """

    what: str
    detail: str
    at: datetime | None = None


@dataclass(frozen=True)
class Trace:
    """An object's way.

    Attributes:
        stops: in the order of the way.
        verdict: how things stand with its present bytes, and what to do if they are not in the table.
        waits_for: the table whose next run it waits for; None if it does not.
    """

    stops: tuple[Stop, ...]
    verdict: str
    waits_for: str | None = None


@dataclass(frozen=True)
class _Way:
    """What is known of the object's way to its table."""

    table: Table
    probe: Probe
    decisions: Sequence[Decision]
    undecided: Sequence[Stop]

    @property
    def name(self) -> str:
        return f"bronze.{self.table.birth.name if self.table.birth else self.table.spec.name}"

    @property
    def last(self) -> Decision | None:
        """The last decision that saw the object, or saw that it is gone."""
        told = [one for one in self.decisions if one.row.status is not Status.DUPLICATE]
        return told[-1] if told else None


def trace(lake: Lake, bucket: str, key: str) -> Trace:
    """Follow an object.

    Args:
        lake: handles.
        bucket: the object's bucket.
        key: its key, decoded.

    Raises:
        StoreError: S3 did not answer.
    """
    probe = lake.store.objects.head(bucket, key)
    stops = [Stop("S3", _present(probe), _modified(probe))]
    known = {TableKey.decode(text) for text in lake.store.table_keys()}
    found = rows_route(bucket, key, lake.config) or route(bucket, key, lake.config, known)
    stops.append(Stop("route", found.why))
    if not isinstance(found, Routed):
        stops += _missed(lake, bucket, key)
        return Trace(tuple(stops), "it enters no table, see the route")
    table = lake.table(found.table.encode())
    version, n = table.ledger.clock()
    way = _Way(table, probe, table.ledger.history(version, key), [*_decided(table, n, key), *_waiting(table, key)])
    stops += [Stop(f"batch {one.stamp.n}", _told(way, one), _time(one.stamp.recorded_at)) for one in way.decisions]
    return Trace((*stops, *way.undecided), _verdict(lake, way, key), table.text if way.undecided else None)


def _present(probe: Probe) -> str:
    match probe:
        case S3Found():
            return f"{probe.size} bytes, etag {probe.etag}"
        case S3Gone():
            return "no such object"
        case S3Forbidden():
            return f"S3 does not give it to us (403): {probe.detail}"
    return f"S3 does not answer for it now: {probe.detail}"


def _modified(probe: Probe) -> datetime | None:
    return _time(probe.modification_time * 1000) if isinstance(probe, S3Found) else None


def _time(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1_000_000, UTC)


def _missed(lake: Lake, bucket: str, key: str) -> Iterator[Stop]:
    """What the intake log of today says of it."""
    for entry in lake.store.intake_log.entries(datetime.now(UTC).strftime("%Y-%m-%d")):
        for row in entry["rows"]:
            if (row.get("bucket"), row.get("key")) == (bucket, key):
                yield Stop("intake log", f"event {row.get('event_id')} counted as {row['outcome']}: {row['reason']}")


def _decided(table: Table, n: int, key: str) -> Iterator[Stop]:
    batch = table.batches.read(n + 1)
    rows = [row for row in batch.rows if row.key == key] if batch else []
    if batch is None or not rows:
        return
    how_far = f"{_landed(table, batch)}. The next run of the table goes on with that batch first"
    at = datetime.fromisoformat(batch.decided_at) if batch.decided_at else None
    for row in rows:
        decided = f"run {batch.run_id or 'unknown'} decided that it is {row.status}"
        yield Stop(f"batch {batch.n}", f"{decided}, and {how_far}", at)


def _landed(table: Table, batch: Batch) -> str:
    """How far a batch came that the ledger does not have."""
    if not batch.commits:
        return "the ledger does not have it: that run is at it, or failed"
    if (table.lake.delta.table_state(batch.location, batch.app_id).txn or 0) >= batch.n:
        return "its commit landed, which the ledger does not have: that run is at it, or failed after its commit"
    return "its commit did not land: that run is at it, or failed in or before its commit"


def _waiting(table: Table, key: str) -> Iterator[Stop]:
    waiting = table.inbox.waiting()[:_MOST_MANIFESTS]
    since = {one.id: one.since for one in waiting}
    for manifest in table.inbox.read(since):
        for hint in manifest.hints:
            if hint.key == key:
                event = f" (event {hint.event_id})" if hint.event_id else ""
                yield Stop(
                    "inbox",
                    f"{hint.event_name}{event} waits in manifest {manifest.id}, from {manifest.origin}",
                    datetime.fromtimestamp(since[manifest.id], UTC),
                )


def _told(way: _Way, one: Decision) -> str:
    row = one.row
    parts = [f"{row.status} by run {one.stamp.run_id or 'unknown'}"]
    if row.status is Status.COMMITTED:
        parts.append(f"{row.rows} rows in {way.name} as of version {one.stamp.bronze_version}")
    if row.etag:
        parts.append(f"etag {row.etag}")
    parts.append(f"{row.event_name or 'no event'} {row.event_id or ''}".strip() + f", manifest {row.manifest}")
    return "; ".join(parts) + (f": {row.reason}" if row.reason else "")


def _verdict(lake: Lake, way: _Way, key: str) -> str:
    if way.undecided:
        return (
            f"it waits for the next run of {way.table.text}: the sensor asks for one within {way.table.spec.window} "
            "seconds, or materialize that partition of bronze"
        )
    last = way.last
    if isinstance(way.probe, S3Forbidden | S3Unavailable) and (
        last is None or last.row.status is not Status.QUARANTINED
    ):
        return _unseen(way, key)
    present = way.probe if isinstance(way.probe, S3Found) else None
    if last is None:
        return _untold(lake, way)
    if last.row.status is Status.QUARANTINED and (
        present is None or last.row.etag is None or same_bytes(present, last.row)
    ):
        return f"it is in quarantine; once the cause is mended: tidegate redrive {way.table.text} --key '{key}' --yes"
    if isinstance(way.probe, S3Gone):
        if last.row.status is Status.MOVED:
            folder = moves_to(way.table.spec.after_load)
            return f"it was {f'moved to {folder}' if folder else 'taken away by after_load'} once it was in {way.name}"
        if last.row.status in SETTLED:
            return f"it is gone, and nothing has told of that: materialize the partition {way.table.text}"
        follows = way.table.birth is not None and way.table.birth.registered
        return f"it is gone, and {way.name} knows: " + ("its rows left with it" if follows else "loaded rows stay")
    rows_stay = last.row.status in SETTLED or (last.row.status is Status.REMOVED and last.row.etag is not None)
    if rows_stay and present is not None and same_bytes(present, last.row):
        return f"its present bytes are in {way.name} since version {last.stamp.bronze_version}"
    return f"its present bytes are not in {way.name}, and nothing has told of them. {_remedy(lake, way)}"


def _unseen(way: _Way, key: str) -> str:
    """What S3 did not show cannot be compared with what the table has."""
    known = f"whether {way.name} has its present bytes cannot be told"
    if isinstance(way.probe, S3Forbidden):
        # Without the second, S3 refuses what is not there too.
        bucket = f"arn:aws:s3:::{way.table.key.bucket}"
        return f"{known}: allow s3:GetObject on {bucket}/{key} and s3:ListBucket on {bucket}, and ask again"
    return f"{known}: ask again when S3 answers"


def _untold(lake: Lake, way: _Way) -> str:
    if isinstance(way.probe, S3Gone):
        return "nothing is known of such an object"
    return f"it is not in {way.name}, and nothing has told of it. {_remedy(lake, way)}"


def _remedy(lake: Lake, way: _Way) -> str:
    queues = ", ".join(map(_depth, lake.queues))
    known = way.table.birth is not None or lake.config.table_for(way.table.key) is not None
    partition = f"the partition {way.table.text} of bronze"
    # Dagster knows the partition of a folder of which nothing was ever told as little as we do.
    then = "" if known else f"Nothing has told of its folder: add {partition} in Dagster (*Add a partition*) first. "
    return (
        f"Its message may wait in a queue ({queues}); `tidegate check` says whether the bucket notifies one. "
        f"{then}A run that materializes {partition} lists the prefix and finds it"
    )


def _depth(queue: Queue) -> str:
    try:
        waiting, flight = queue.depth()
    except (BotoCoreError, ClientError) as error:
        return f"{queue.name} does not say: {first_line(error)}"
    return f"{queue.name} has {waiting} messages and {flight} in flight"
