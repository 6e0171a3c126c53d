"""What may still have rows of forgotten persons after no table has them, and no search of a table finds.

- Earlier versions of a table have the rows until their files are deleted.
- Copies of whole objects, which runs made for Spark, belong to no table.
- Messages may come after the requests were worked off. The intake cannot leave them out: it stores every message
  before it deletes it, and a message is divided into rows only when it is loaded. A load leaves the row out, but the
  object keeps its text. So each call that works off requests also searches the objects that came since the last such
  search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.seams import seam
from tidegate.platform.forgetting.kept_objects import erase_kept_objects
from tidegate.platform.forgetting.subject_search import tables_of
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.maintenance.tables import SHORTEST
from tidegate.platform.maintenance.vacuum import retention, vacuum_all

#: A note for each kind of subjects: until when objects were searched.
SEARCHED = "searched"
#: Between the deletions and the note. A call that dies there is repeated from where it began.
SEAM = "forget-late"
#: S3 gives an object the time at which its upload began, by another clock.
_OVERLAP = timedelta(hours=1)


def longest_retention(lake: Lake, spec: TableSpec) -> timedelta:
    """Return for how long the files of a loaded table, and of its silver table, are kept after they were removed.

    Raises:
        ValueError: a table has a retention that is not a number of weeks, days, hours, minutes or seconds.
    """
    return max((retention(lake.delta, location) for location in _locations(lake, spec)), default=timedelta())


def end_old_versions(lake: Lake, spec: TableSpec) -> None:
    """Delete the files of a loaded table, and of its silver table, that were removed for longer than its retention.

    Raises:
        StoreError: S3 did not answer.
        ValueError: as for `longest_retention`.
    """
    for location in _locations(lake, spec):
        vacuum_all(lake.delta, lake.store, location, retention(lake.delta, location))


def _locations(lake: Lake, spec: TableSpec) -> list[str]:
    birth = lake.table(spec.table_key.encode()).birth
    bronze = [birth.location] if birth and not birth.registered and not birth.output else []
    # A silver table that lake.yaml no longer has may still be there.
    return [
        location
        for location in (*bronze, lake.store.uri("silver", spec.name))
        if lake.delta.table_state(location).exists
    ]


def erase_staged_copies(store: LakeStore, table_key: str, before: float | None = None) -> int:
    """Delete the copies that runs of a table made, whatever rows they have. Returns their number.

    A run that reads such a copy fails, and its files wait for the next run.

    Args:
        before: only copies that are older, in epoch seconds by S3's clock. None: all.

    Raises:
        StoreError: S3 did not answer.
    """
    objects, bucket = store.objects, store.bucket
    found = objects.list_under(bucket, store.key("staging", table_key, ""))
    keys = [item.key for item in found if before is None or item.modified < before]
    if keys:
        objects.delete(bucket, keys)
    return len(keys)


def erase_late_copies(
    store: LakeStore, tables: Iterable[TableSpec], log: Callable[[str], None] = lambda _: None
) -> None:
    """Delete the copies that no run reads any more. They may have rows of persons that came after their request.

    Args:
        tables: with the subjects of a request.
        log: called with a line for each table that had such copies.

    Raises:
        StoreError: S3 did not answer.
    """
    before = time.time() - SHORTEST.total_seconds()
    for spec in tables:
        if copies := erase_staged_copies(store, spec.table_key.encode(), before):
            log(f"{copies} copies of whole objects of {spec.name} left staging/")


def erase_late_messages(lake: Lake, kind: str, log: Callable[[str], None] = lambda _: None) -> int:
    """Take messages of forgotten subjects out of the objects of row queues, if they came since the last search.

    A request that is worked off searches all objects, so later searches need only those that came afterwards.

    Args:
        kind: kind of the subjects.
        log: called with a line for each table that had such messages.

    Returns:
        The number of lines and messages.

    Raises:
        SecretProblem: the suppression list cannot be applied.
        StoreError: S3 did not answer.
    """
    tables = [spec for spec in tables_of(lake.config, kind) if spec.row_queue]
    if not tables:
        return 0
    now, done = datetime.now(UTC), 0
    noted = lake.store.forgotten.note(kind, SEARCHED)
    since = (datetime.fromisoformat(noted["at"]) - _OVERLAP).timestamp() if noted else 0.0
    for spec in tables:
        if suppression := lake.suppression(spec):
            table = lake.table(spec.table_key.encode())
            lines = erase_kept_objects(lake.config, lake.store, table, suppression, since=since)
            if lines:
                log(f"{lines} late lines and messages of {spec.name} left the row objects and the quarantine")
            done += lines
    seam(SEAM)
    at = now.isoformat(timespec="seconds")
    lake.store.forgotten.put_note(kind, SEARCHED, {"format": 1, "at": at}, again=True)
    return done
