"""Messages of forgotten persons that came after their requests were worked off.

The intake cannot leave them out: it stores every message before it deletes it, and a message is divided into rows only
when it is loaded. A load leaves the row out, but the object keeps its text. So each call that works off requests also
searches the objects that came since the last such search.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tidegate.platform.core.failpoints import seam
from tidegate.platform.forgetting.find import tables_of
from tidegate.platform.forgetting.kept_objects import erase_kept_objects
from tidegate.platform.lake.lake import Lake

#: A note for each kind of subjects: until when objects were searched.
SEARCHED = "searched"
#: Between the deletions and the note. A call that dies there is repeated from where it began.
SEAM = "forget-late"
#: S3 gives an object the time at which its upload began, by another clock.
_OVERLAP = timedelta(hours=1)


def erase_late_messages(lake: Lake, kind: str, log: Callable[[str], None] = lambda _: None) -> int:
    """Take messages of forgotten subjects out of the objects of row queues, if they came since the last search.

    A request that is worked off searches all objects, so later searches need only those that came afterwards.

    Args:
        lake: the lake.
        kind: kind of the subjects.
        log: called with a line for each table that had such messages.

    Returns:
        The number of lines and messages.

    Raises:
        SecretProblem: the suppression list cannot be applied.
        StoreError: S3 did not answer.
    """
    tables = [spec for spec in tables_of(lake, kind) if spec.row_queue]
    if not tables:
        return 0
    now, done = datetime.now(UTC), 0
    noted = lake.store.forgotten.note(kind, SEARCHED)
    since = (datetime.fromisoformat(noted["at"]) - _OVERLAP).timestamp() if noted else 0.0
    for spec in tables:
        if suppression := lake.suppression(spec):
            table = lake.table(spec.table_key.encode())
            lines = erase_kept_objects(lake, table, suppression, since=since)
            if lines:
                log(f"{lines} late lines and messages of {spec.name} left the row objects and the quarantine")
            done += lines
    seam(SEAM)
    at = now.isoformat(timespec="seconds")
    lake.store.forgotten.put_note(kind, SEARCHED, {"format": 1, "at": at}, again=True)
    return done
