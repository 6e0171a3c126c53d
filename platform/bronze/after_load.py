"""After-load: moves, deletes or tags source files whose rows are in the table.

It runs after the ledger has the batch and before the batch's manifests are deleted, so the next run repeats it after a
crash. Each request names the etag that was loaded, so a file that was overwritten meanwhile stays. What fails is noted
and tried again by the next run. A failure never stops ingestion (docs/decisions/0052-after-load.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.hint import Hint, RemovedByAfterLoad
from tidegate.platform.core.bronze.ledger import LastState, LedgerRow, Status
from tidegate.platform.core.bronze.manifest import split_into_manifests
from tidegate.platform.core.bronze.object_state import S3Found, S3Gone, same_bytes
from tidegate.platform.core.config.after_load import MoveOrTag, moved_key, removes_source
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import (
    ObjectArchived,
    ObjectChanged,
    ObjectForbidden,
    ObjectGone,
    ObjectRefused,
    ObjectStore,
    ObjectTaken,
    StoreError,
)
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.after_notes import AfterNotes, oldest_notes
from tidegate.platform.lake.lake_root.batches import GenerationRetired
from tidegate.platform.lake.ledger import Ledger
from tidegate.platform.lake.threads import parallel

#: The seams of the removal of one file, in order. The run has one more seam after all files.
SEAMS = ("after-copy", "after-delete")

#: Size of a group of files. If all files of a group fail, the rest is not tried.
_FILES_IN_PARALLEL = 200
#: Noted files that one run tries again, oldest first, so that new files do not wait long.
_MAX_NOTED_FILES = 2_000
#: Seconds after which a run starts no further group of noted files. Copies of large files take long.
_NOTED_SECONDS = 20
#: Age in seconds at which a run that events started tries a note again: an earlier attempt would probably fail too.
_NOTE_REST_SECONDS = 300


@dataclass(frozen=True)
class Loaded:
    """The identity of an object's bytes, of which all rows are in the table.

    Attributes:
        etag: present etag of the object.
        size: bytes.
        checksum: as in `LedgerRow`.
        known: etag that the ledger has for these bytes.
    """

    etag: str
    size: int | None = None
    checksum: str | None = None
    known: str = ""

    @classmethod
    def from_state(cls, state: LastState, row: LedgerRow | None = None) -> Loaded:
        """Make it from a ledger state. A later row for the same bytes can have another etag."""
        etag = state.etag or ""
        return cls(row.etag if row and row.etag else etag, state.size, state.checksum, etag)


@dataclass
class AfterLoad:
    """The result of after-load for some files.

    Attributes:
        done: number of files that were removed or tagged.
        taken: etags of the removed files, by key.
        failed: reasons of failures, by key. An empty reason means that the file was not tried.
        retired: set if a reset ended the table's generation. The remaining files were left as they are.
    """

    done: int = 0
    taken: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    retired: GenerationRetired | None = None


def remove_loaded(table: Table, batch: Batch, log: Callable[[str], None]) -> None:
    """Remove or tag the files of a recorded batch, as `after_load` in lake.yaml asks."""
    if table.spec.after_load == "keep":
        return
    rows = [row for row in batch.rows if row.etag]
    loaded = {
        row.key: Loaded(row.etag or "", row.size, row.checksum, row.etag or "")
        for row in rows
        if row.status == Status.COMMITTED and not row.bad_rows
    }
    # A duplicate can belong to a file that is in quarantine, wholly or partly. The ledger shows it.
    asked = {row.key: row for row in rows if row.status == Status.DUPLICATE and row.key not in loaded}
    _settle(table, batch.n, {**_loaded_keys(table.ledger, asked), **loaded}, log)


def retry_noted(
    table: Table,
    log: Callable[[str], None],
    *,
    at_once: bool = True,
    now: Callable[[], float] = time.time,
) -> None:
    """Try again the files that earlier runs noted, within the limits of one run.

    Args:
        log: called with each line of progress.
        at_once: also try notes that are only minutes old. For runs that a person started.
        now: returns the time, in epoch seconds.
    """
    if table.spec.after_load == "keep":
        return
    ids = table.after_notes.ids()
    ids = oldest_notes(ids, _MAX_NOTED_FILES, None if at_once else now() - _NOTE_REST_SECONDS)
    if not ids:
        return
    notes = table.after_notes.read(ids)
    keys = {key: reason for note in notes for key, reason in note.keys.items()}
    # A note may have more keys than the limit of one run.
    some = sorted(keys)[:_MAX_NOTED_FILES]
    log(f"after load: {len(some)} files of earlier batches are tried again")
    # A file that fails gets a new note, behind the others, so that it does not delay the other notes.
    until = now() + _NOTED_SECONDS
    _settle(table, table.ledger.clock().n, _loaded_keys(table.ledger, dict.fromkeys(some)), log, lambda: now() < until)
    table.after_notes.put({key: keys[key] for key in sorted(keys)[_MAX_NOTED_FILES:]}, table.spec.max_files)
    table.after_notes.delete(ids)


def note_loaded_files(
    spec: TableSpec, after_notes: AfterNotes, present: Mapping[str, str], states: Mapping[str, LastState]
) -> int:
    """Note listed files that were loaded and should have been removed. Returns their number.

    Args:
        present: etags of the objects under the table's prefix, by key.
        states: the ledger's last states, by key.
    """
    if not removes_source(spec.after_load):
        return 0
    left = {
        key: ""
        for key, etag in present.items()
        if key in states and _is_loaded(states[key]) and states[key].etag == etag
    }
    after_notes.put(left, spec.max_files)
    return len(left)


def _loaded_keys(ledger: Ledger, asked: Mapping[str, LedgerRow | None]) -> dict[str, Loaded]:
    """Return the keys whose last bytes are wholly in the table.

    Args:
        asked: keys, each with a row whose bytes the last bytes must equal, or None.
    """
    if not asked:
        return {}
    version, n = ledger.clock()
    states = ledger.memory(version, n, sorted(asked))[1]
    return {
        key: Loaded.from_state(state, row)
        for key, state in states.items()
        if _is_loaded(state) and ((row := asked[key]) is None or same_bytes(row, state))
    }


def _is_loaded(state: LastState) -> bool:
    return state.in_table and not state.bad_rows


def _settle(
    table: Table,
    n: int,
    loaded: Mapping[str, Loaded],
    log: Callable[[str], None],
    may_continue: Callable[[], bool] = lambda: True,
) -> None:
    """Remove or tag files, then write hints for removed files and notes for failed ones.

    The caller deletes its manifests or notes afterwards, so a crash loses nothing.
    """
    if not loaded:
        return
    found = remove_or_tag(table, loaded, n, may_continue)
    # The ledger may have another etag for these bytes.
    hints = [Hint(key, RemovedByAfterLoad(loaded[key].known or etag)) for key, etag in found.taken.items()]
    max_files = table.spec.max_files
    table.inbox.put(split_into_manifests(table.table_key, "after", hints, max_files))
    table.after_notes.put(found.failed, max_files)
    log(f"after load: {found.done} of {len(loaded)} files done" + _failures_text(found.failed))
    if found.retired:
        raise found.retired


def _failures_text(failed: Mapping[str, str]) -> str:
    reasons = [reason for reason in failed.values() if reason]
    return f", {len(failed)} are tried again by the next run: {reasons[0]}" if reasons else ""


def remove_or_tag(
    table: Table, loaded: Mapping[str, Loaded], n: int, may_continue: Callable[[], bool] = lambda: True
) -> AfterLoad:
    """Remove or tag files, in groups.

    Before each group it checks whether a reset has ended the table's generation. After a reset the rows are loaded
    again from the present files, so these must stay.

    Args:
        table: a table whose `after_load` is not `keep`.
        loaded: bytes that are in the table, by key.
        n: number of a batch of this generation.
        may_continue: called before each further group. If it returns False, the next run tries the rest.
    """
    found = AfterLoad()
    if why := _removal_problem(table):
        found.failed = dict.fromkeys(loaded, why)
        return found

    def settle(item: tuple[str, Loaded]) -> tuple[str, str, bool | StoreError]:
        key, bytes = item
        try:
            return key, bytes.etag, _remove_or_tag_file(table.spec, table.key, table.source, key, bytes)
        except StoreError as error:
            return key, bytes.etag, error

    rest = dict(loaded)
    while part := list(islice(rest.items(), _FILES_IN_PARALLEL)):
        try:
            n = table.batches.require_current(n)
        except GenerationRetired as retired:
            found.retired = retired
            return found
        errors = 0
        for key, etag, outcome in parallel(settle, part):
            del rest[key]
            if isinstance(outcome, StoreError):
                found.failed[key] = str(outcome)
                errors += not _is_of_one_file(outcome)
            elif outcome:
                found.done += 1
                if removes_source(table.spec.after_load):
                    found.taken[key] = etag
        if errors == len(part) or not may_continue():
            break
    found.failed |= dict.fromkeys(rest, "")
    return found


def _is_of_one_file(error: StoreError) -> bool:
    """Return whether the next file may succeed: S3 neither fails nor lacks a permission for us."""
    return isinstance(error, ObjectArchived) or (
        isinstance(error, ObjectRefused) and not isinstance(error, ObjectForbidden)
    )


def _removal_problem(table: Table) -> str | None:
    birth = table.birth or table.lake.store.births.read(table.table_key)
    if birth is None or birth.registered:
        return "the table is registered, so queries read its source files: remove after_load from lake.yaml"
    if removes_source(table.spec.after_load):
        try:
            table.lake.store.identity.prove_conditional_delete()
        except StoreError as error:
            return str(error)
    return None


def _remove_or_tag_file(spec: TableSpec, table: TableKey, source: Bucket, key: str, bytes: Loaded) -> bool:
    """Remove or tag one file. Returns False if the object no longer has the loaded bytes."""
    after_load, loaded = spec.after_load, source.version(key, bytes.etag)
    if isinstance(after_load, MoveOrTag) and after_load.tag:
        return _tag(source.objects, loaded, after_load.tag)
    moved = isinstance(after_load, MoveOrTag) and _copy(table, source, loaded, bytes, after_load.move or "")
    if isinstance(after_load, MoveOrTag) and not moved:
        return False
    seam("after-copy")
    gone = _delete(source.objects, loaded)
    seam("after-delete")
    return gone


def _copy(key: TableKey, source: Bucket, loaded: S3Object, bytes: Loaded, folder: str) -> bool:
    """Copy a file to its destination. Returns False if the source has changed and no earlier copy exists.

    The copy has the plain name if that is free, and otherwise a name with the etag, which only such a copy has.
    """
    bucket, path = S3Address.parse(folder)
    relative = loaded.address.key[len(key.prefix) :]
    plain, own = (S3Address(bucket, moved_key(path, relative, etag)) for etag in ("", loaded.etag))
    objects = source.objects

    def present(target: S3Address) -> S3Found | None:
        match objects.head(*target):
            case S3Found() as found:
                return found
            case S3Gone():
                return None
            case answer:
                raise StoreError(f"{target}: {answer}")

    for target in (plain, own):
        there = present(target)
        if there is None:
            try:
                objects.copy(loaded, target, only_new=True)
                return True
            except ObjectTaken:
                there = present(target)  # another writer made it, or our copy whose answer was lost
            except ObjectGone:
                # An earlier attempt removed it, whose copy may have another etag, or its producer did.
                copies = present(plain), present(own)
                return any(copy is not None and bytes.size in (None, copy.size) for copy in copies)
            except ObjectChanged:
                return False
        if there is not None and (target == own or same_bytes(there, bytes)):
            return True
    raise StoreError(
        f"{own} appears and disappears: another tool writes to this folder. Give the move a folder of its own"
    )


def _delete(objects: ObjectStore, loaded: S3Object) -> bool:
    try:
        objects.delete_if(loaded)
    except ObjectGone:
        pass  # an earlier attempt deleted it, or its producer did: the rows are in the table
    except ObjectChanged:
        # S3 may also answer 412 for an object whose present version is a delete marker.
        return isinstance(objects.head(*loaded.address), S3Gone)
    return True


def _tag(objects: ObjectStore, loaded: S3Object, wanted: Mapping[str, str]) -> bool:
    """Tag a file. Returns False if the object no longer has the loaded bytes.

    S3 has no condition on the etag for tags. In a versioned bucket the tags go to the version. In other buckets the
    etag is read again afterwards, and if it has changed our tags are removed.
    """
    before = objects.head(*loaded.address)
    if isinstance(before, S3Gone):
        return False
    if not isinstance(before, S3Found):
        raise StoreError(f"{loaded.address}: {before}")
    if before.etag != loaded.etag:
        return _untag(objects, loaded.address, wanted)
    try:
        tags = objects.tags(*loaded.address, before.version_id)
        if wanted.items() <= tags.items():
            return True
        objects.put_tags(*loaded.address, {**tags, **wanted}, before.version_id)
        after = objects.head(*loaded.address)
        if before.version_id is None and isinstance(after, S3Found) and after.etag != loaded.etag:
            return _untag(objects, loaded.address, wanted)
    except ObjectGone:
        return False
    return True


def _untag(objects: ObjectStore, address: S3Address, wanted: Mapping[str, str]) -> bool:
    """Remove our tags from an object that has other bytes than the loaded ones. Returns False."""
    try:
        tags = objects.tags(*address)
        if tags.items() & wanted.items():
            objects.put_tags(*address, dict(tags.items() - wanted.items()))
    except ObjectGone:
        pass
    return False
