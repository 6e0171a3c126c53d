"""After load: what becomes of source files whose rows are in the table.

It follows the ledger's row and comes before the batch's manifests are deleted, so a run that dies is repeated. Each
file is asked for by the etag that was loaded: one that was overwritten meanwhile stays. What cannot be done is noted,
and tried again by the next run; nothing of it fails ingestion (docs/decisions/0052-after-load.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from tidegate.platform.core.after_load import MoveOrTag, moved_key, takes_away
from tidegate.platform.core.batch import Batch
from tidegate.platform.core.failpoints import seam
from tidegate.platform.core.ledger import IN_TABLE, LastState, Status
from tidegate.platform.core.manifest import TAKEN, Hint, chunked
from tidegate.platform.core.object_key import parse_s3_uri
from tidegate.platform.core.planning import Found, Gone
from tidegate.resources.lake import Lake, Table
from tidegate.resources.object_store import ObjectChanged, ObjectGone, StoreError, parallel

#: The seams of one file that is taken away, in order; the run has one after all of them.
SEAMS = ("after-copy", "after-delete")

#: Files that are done side by side; where none of these can be, the rest is not tried.
_SIDE_BY_SIDE = 200
#: Notes that one run tries again, the oldest ones.
_MOST_NOTES = 20


@dataclass
class AfterLoad:
    """What became of files.

    Attributes:
        done: how many were tagged, or taken away.
        taken: etags of the files that were taken away, by key.
        failed: files that could not be done, with the reason; empty where it was not tried.
    """

    done: int = 0
    taken: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def after_batch(lake: Lake, table: Table, batch: Batch, log: Callable[[str], None]) -> None:
    """Take away or tag the files of a batch that is in the ledger, as lake.yaml says."""
    if table.spec.after_load == "keep":
        return
    rows = [row for row in batch.rows if row.etag]
    loaded = {row.key: row.etag or "" for row in rows if row.status == Status.COMMITTED and not row.bad_rows}
    # A duplicate may be one of a file that is in the quarantine, wholly or in part: the ledger knows.
    asked = {row.key for row in rows if row.status == Status.DUPLICATE} - loaded.keys()
    _settle(lake, table, {**_loaded(table, sorted(asked)), **loaded}, log)


def after_notes(lake: Lake, table: Table, log: Callable[[str], None]) -> None:
    """Try again what an earlier run could not do."""
    if table.spec.after_load == "keep" or not (ids := lake.store.after.ids(table.text)[:_MOST_NOTES]):
        return
    notes = lake.store.after.read(table.text, ids)
    keys = sorted({key for note in notes for key in note.keys})
    log(f"after load: {len(keys)} files of earlier batches are tried again")
    # What fails is noted anew, behind the others: no note keeps those after it from their turn.
    _settle(lake, table, _loaded(table, keys), log)
    lake.store.after.delete(table.text, ids)


def note_what_lies_there(lake: Lake, table: Table, present: Mapping[str, str], states: Mapping[str, LastState]) -> int:
    """Note the files of a listing that were loaded and should not lie there any more; how many.

    Args:
        lake: handles.
        table: the table.
        present: etags of the objects under its prefix.
        states: what the ledger says of keys.
    """
    if not takes_away(table.spec.after_load):
        return 0
    left = {key: "" for key, etag in present.items() if key in states and _is_loaded(states[key], etag)}
    lake.store.after.put(table.text, left, table.spec.max_files)
    return len(left)


def _loaded(table: Table, keys: Sequence[str]) -> dict[str, str]:
    """The etags of those keys whose last bytes are wholly in the table."""
    if not keys:
        return {}
    version, n = table.ledger.clock()
    states = table.ledger.memory(version, n, keys)[1]
    return {key: state.etag for key, state in states.items() if state.etag and _is_loaded(state, state.etag)}


def _is_loaded(state: LastState, etag: str) -> bool:
    return state.status in IN_TABLE and not state.partly and state.etag == etag


def _settle(lake: Lake, table: Table, loaded: Mapping[str, str], log: Callable[[str], None]) -> None:
    """Do it, and leave durably what is to be told and what is left, before whatever asked for it is deleted."""
    if not loaded:
        return
    found = act(lake, table, loaded)
    hints = [Hint(key, event_name=TAKEN, taken=etag) for key, etag in found.taken.items()]
    most = table.spec.max_files
    lake.store.inbox.put(chunked(table.text, "after", hints, most))
    lake.store.after.put(table.text, found.failed, most)
    log(f"after load: {found.done} of {len(loaded)} files done" + _told(found.failed))


def _told(failed: Mapping[str, str]) -> str:
    reasons = [reason for reason in failed.values() if reason]
    return f", {len(failed)} are tried again by the next run: {reasons[0]}" if reasons else ""


def act(lake: Lake, table: Table, loaded: Mapping[str, str]) -> AfterLoad:
    """Take away or tag files.

    Args:
        lake: handles.
        table: the table, with an ``after_load`` other than ``keep``.
        loaded: etags of the bytes that are in the table, by key.
    """
    found = AfterLoad()
    if why := _forbids(lake, table):
        found.failed = dict.fromkeys(loaded, why)
        return found

    def one(item: tuple[str, str]) -> tuple[str, str, bool | str]:
        key, etag = item
        try:
            return key, etag, _one(lake, table, key, etag)
        except StoreError as error:
            return key, etag, str(error)

    rest = dict(loaded)
    while part := list(islice(rest.items(), _SIDE_BY_SIDE)):
        errors = 0
        for key, etag, came in parallel(one, part):
            del rest[key]
            if isinstance(came, str):
                found.failed[key] = came
                errors += 1
            elif came:
                found.done += 1
                if takes_away(table.spec.after_load):
                    found.taken[key] = etag
        if errors == len(part):
            break
    found.failed |= dict.fromkeys(rest, "")
    return found


def _forbids(lake: Lake, table: Table) -> str | None:
    birth = table.birth or lake.store.births.read(table.text)
    if birth is None or birth.registered:
        return "the table's files are registered, and are read where they lie: take after_load out of lake.yaml"
    if takes_away(table.spec.after_load):
        try:
            lake.store.identity.prove_conditional_delete()
        except StoreError as error:
            return str(error)
    return None


def _one(lake: Lake, table: Table, key: str, etag: str) -> bool:
    """Take away or tag one file; whether it is done, False where these bytes lie there no more."""
    after_load, bucket = table.spec.after_load, table.key.bucket
    if isinstance(after_load, MoveOrTag) and after_load.tag:
        return _tag(lake, bucket, key, etag, after_load.tag)
    moved = isinstance(after_load, MoveOrTag) and _copy(lake, table, key, etag, after_load.move or "")
    if isinstance(after_load, MoveOrTag) and not moved:
        return False
    seam("after-copy")
    gone = _delete(lake, bucket, key, etag)
    seam("after-delete")
    return gone


def _copy(lake: Lake, table: Table, key: str, etag: str, folder: str) -> bool:
    """Copy a file to where it is moved; False where these bytes lie there no more, and were not copied before."""
    objects = lake.store.objects
    bucket, path = parse_s3_uri(folder)
    relative = key[len(table.key.prefix) :]
    target = moved_key(path, relative)
    lies = objects.head(bucket, target)
    if isinstance(lies, Found) and lies.etag == etag:
        return True
    if isinstance(lies, Found):
        target = moved_key(path, relative, etag)
    elif not isinstance(lies, Gone):
        raise StoreError(f"s3://{bucket}/{target}: {lies}")
    try:
        objects.copy(table.key.bucket, key, etag, bucket, target)
    except ObjectGone:
        return isinstance(objects.head(bucket, target), Found)
    except ObjectChanged:
        return False
    return True


def _delete(lake: Lake, bucket: str, key: str, etag: str) -> bool:
    objects = lake.store.objects
    try:
        objects.delete_if(bucket, key, etag)
    except ObjectGone:
        pass  # by an earlier attempt, or by its producer: its rows are in the table, and it is not there
    except ObjectChanged:
        # A version that was deleted is no present object, and S3 may say 412 of it as well.
        return isinstance(objects.head(bucket, key), Gone)
    return True


def _tag(lake: Lake, bucket: str, key: str, etag: str, wanted: Mapping[str, str]) -> bool:
    """Tags have no condition on the etag: those of a version stay its own, else a second look takes ours off again."""
    objects = lake.store.objects
    lies = objects.head(bucket, key)
    if isinstance(lies, Gone):
        return False
    if not isinstance(lies, Found):
        raise StoreError(f"s3://{bucket}/{key}: {lies}")
    if lies.etag != etag:
        return _untag(lake, bucket, key, wanted)
    try:
        before = objects.tags(bucket, key, lies.version_id)
        if wanted.items() <= before.items():
            return True
        objects.put_tags(bucket, key, {**before, **wanted}, lies.version_id)
        after = objects.head(bucket, key)
        if lies.version_id is None and isinstance(after, Found) and after.etag != etag:
            return _untag(lake, bucket, key, wanted)
    except ObjectGone:
        return False
    return True


def _untag(lake: Lake, bucket: str, key: str, wanted: Mapping[str, str]) -> bool:
    """Take our tags off an object whose bytes are not those that were loaded; False."""
    objects = lake.store.objects
    try:
        tags = objects.tags(bucket, key)
        if tags.items() & wanted.items():
            objects.put_tags(bucket, key, dict(tags.items() - wanted.items()))
    except ObjectGone:
        pass
    return False
