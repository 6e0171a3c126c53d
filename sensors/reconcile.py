"""The reconcile sensor: requests runs that list a table's prefix and find objects without an event."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import dagster as dg

from tidegate.assets.keys import BRONZE_JOB, LakeNames
from tidegate.assets.runs.held_tables import PARTITION_TAG
from tidegate.assets.runs.tags import LISTED_TAG, RECONCILE, TABLE_TAG, TRIGGER_TAG
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.resources.lake_resource import LakeResource, with_lake
from tidegate.sensors.run_history import FAILED, FAILURES_TAG, TableRuns, end_time, table_runs

#: Runs of this sensor that may be queued or active at a time: half of all places, because a listing takes long.
MAX_LISTING_RUNS = 2
_TICK_SECONDS = 30
#: Lower than that of runs that an event requested.
_PRIORITY = {"dagster/priority": "-1"}
#: Seconds for which a failed listing is requested again, and how many of these runs a tick fetches.
_LATELY, _MAX_RECORDS = 7200.0, 1000
#: Tables in the cursor. With more, the object is written again, because Dagster stores every tick's cursor.
_MAX_IN_CURSOR = 100


@dataclass
class Due:
    """The tables whose listing is due.

    Attributes:
        tables: table keys, those that have waited longest first.
        asked: epoch seconds of the last request, by table key.
    """

    tables: list[str] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)


def due_tables(
    intervals: Mapping[str, int],
    asked: Mapping[str, int],
    now: float,
    *,
    runs: TableRuns,
    broken: Mapping[str, float],
    max_due: int,
) -> Due:
    """Return the tables to list now. Pure.

    A new table has its turn at its own point in the first interval, so that a thousand new tables are not listed at
    once.

    Args:
        intervals: seconds between two listings, by table key, of the tables that are listed at all.
        asked: epoch seconds of the last request, by table key.
        now: epoch seconds.
        runs: active runs and failed runs.
        broken: epoch seconds at which a table's last listing failed.
        max_due: how many tables may be due.
    """
    found = Due()
    late: list[tuple[float, str]] = []
    for table, interval in intervals.items():
        last = asked.get(table)
        if last is None:
            last = int(now) - zlib.crc32(table.encode()) % interval
        found.asked[table] = last
        failed = runs.failures.get(table)
        # A failed listing is requested again after the table's backoff.
        again = broken.get(table, 0) > last
        if table in runs.active or (failed and failed.backoff_left(interval, now)):
            continue
        if again or now - last >= interval:
            late.append((now if again else last + interval, table))
    for _, table in sorted(late)[: max(0, max_due)]:
        found.tables.append(table)
        found.asked[table] = int(now)
    return found


def intervals_of(config: LakeConfig, known: Collection[str]) -> dict[str, int]:
    """Return the seconds between two listings, by table key, of every table that is listed."""
    keys = {*(TableKey.decode(table_key) for table_key in known), *config.keys()}
    found = {key.encode(): config.settings(key).reconcile_interval for key in keys}
    return {table_key: interval for table_key, interval in sorted(found.items()) if interval}


def reconcile_requests(
    instance: dg.DagsterInstance, config: LakeConfig, asked: Mapping[str, int], now: float
) -> tuple[Due, list[dg.RunRequest]]:
    """Return the tables whose listing is due, and the runs to request.

    Args:
        asked: epoch seconds of the last request, by table key.
        now: epoch seconds.
    """
    names = LakeNames.from_config(config)
    intervals = intervals_of(config, names.known_tables(instance))
    runs = table_runs(instance, names, (TRIGGER_TAG, RECONCILE), now)
    broken = _failed_listings(instance, names, now)
    found = due_tables(
        intervals,
        asked,
        now,
        runs=runs,
        broken={table: end_time(record) for table, record in broken.items()},
        max_due=MAX_LISTING_RUNS - runs.tagged,
    )
    return found, [_request(names, table, runs, broken.get(table)) for table in found.tables]


@dataclass(frozen=True)
class ListingRequests:
    """When each table's listing was requested last, in an object and the cursor together.

    The object has all tables. The cursor has those that were requested since the object was written. Dagster stores a
    cursor together with the tick's runs, so the object never contains a request that Dagster did not get.

    Attributes:
        stored: the times in the object.
        since: the times in the cursor.
    """

    stored: Mapping[str, int]
    since: Mapping[str, int]

    @classmethod
    def from_stored(cls, stored: Mapping[str, int], cursor: str | None) -> ListingRequests:
        """Read both. A cursor from a version without the object has every table."""
        found = json.loads(cursor or "{}")
        recent = found.get("asked")
        return cls(stored, recent if isinstance(recent, dict) else found)

    @property
    def asked(self) -> dict[str, int]:
        """Epoch seconds of the last request, by table key."""
        return {**self.stored, **self.since}

    def update_after(self, found: Due) -> tuple[dict[str, int] | None, str]:
        """Return the new content of the object, or None if it may stay, and the next cursor.

        Args:
            found: the tables that this tick requests.
        """
        before = self.asked
        now = {table: found.asked[table] for table in found.tables}
        known = {table: before.get(table, at) for table, at in found.asked.items()}
        if len(self.since) <= _MAX_IN_CURSOR and known.keys() <= before.keys() | now.keys():
            return None, json.dumps({"asked": {**self.since, **now}})
        return known, json.dumps({"asked": now})


def _failed_listings(instance: dg.DagsterInstance, names: LakeNames, now: float) -> dict[str, dg.RunRecord]:
    """Return the last listing of each table if it failed recently."""
    lately = datetime.fromtimestamp(now - _LATELY, UTC)
    wanted = dg.RunsFilter(job_name=names.name(BRONZE_JOB), tags={TRIGGER_TAG: RECONCILE}, updated_after=lately)
    latest: dict[str, dg.RunRecord] = {}
    for record in instance.get_run_records(wanted, limit=_MAX_RECORDS):  # newest first
        latest.setdefault(record.dagster_run.tags.get(PARTITION_TAG, ""), record)
    return {table: record for table, record in latest.items() if record.dagster_run.status in FAILED}


def _request(names: LakeNames, table: str, runs: TableRuns, broken: dg.RunRecord | None) -> dg.RunRequest:
    tags = {TRIGGER_TAG: RECONCILE, TABLE_TAG: names.label(table), **_PRIORITY}
    if table in runs.failures:
        tags[FAILURES_TAG] = str(runs.failures[table].number)
    if broken and (last_key := broken.dagster_run.tags.get(LISTED_TAG)):
        tags[LISTED_TAG] = last_key
    return dg.RunRequest(job_name=names.name(BRONZE_JOB), partition_key=table, tags=tags)


def build_reconcile_sensor(config: LakeConfig) -> list[dg.SensorDefinition]:
    """Build the sensor that requests the listings of tables with a `reconcile_interval`, if there are any.

    The times of the last requests are in an object below the lake root. If it is lost, each table gets one extra
    listing.
    """

    if not config.reconcile_interval and not any(spec.reconcile_interval for spec in config.tables):
        return []
    names = LakeNames.from_config(config)

    @dg.sensor(
        name=names.name("reconcile"),
        job_name=names.name(BRONZE_JOB),
        minimum_interval_seconds=_TICK_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests runs that list the prefix of each table with a reconcile_interval and find objects "
        "without an event.",
    )
    @with_lake(names.resource)
    def reconcile(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        times = lake.open().store.listing_times
        before = ListingRequests.from_stored(times.read(), context.cursor)
        found, requests = reconcile_requests(context.instance, config, before.asked, time.time())
        stored, cursor = before.update_after(found)
        if stored is not None:
            times.write(stored)
        new = sorted(set(found.tables) - names.known_tables(context.instance))
        return dg.SensorResult(
            cursor=cursor,
            run_requests=requests,
            dynamic_partitions_requests=[names.tables.build_add_request(new)] if new else [],
            skip_reason=None if requests else dg.SkipReason(f"no listing is due; {len(found.asked)} tables have them"),
        )

    return [reconcile]
