"""After load: what becomes of source files whose rows are in the table.

It follows the ledger's row and comes before the batch's manifests are deleted, so a run that dies is repeated. Each
file is asked for by the etag that was loaded: one that was overwritten meanwhile stays. What cannot be done is noted,
and tried again by the next run; nothing of it fails ingestion (docs/decisions/0052-after-load.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.hint import TAKEN, Hint
from tidegate.platform.core.bronze.ledger import LastState, LedgerRow, Status
from tidegate.platform.core.bronze.manifest import chunked
from tidegate.platform.core.bronze.object_state import S3Found, S3Gone
from tidegate.platform.core.bronze.same_bytes import same_bytes
from tidegate.platform.core.config.after_load import MoveOrTag, moved_key, takes_away
from tidegate.platform.core.failpoints import seam
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.resources.aws.s3 import ObjectChanged, ObjectGone, ObjectTaken, StoreError
from tidegate.resources.lake import Table
from tidegate.resources.lake_root.after_notes import oldest
from tidegate.resources.lake_root.batches import GenerationRetired
from tidegate.resources.threads import parallel

#: The seams of one file that is taken away, in order; the run has one after all of them.
SEAMS = ("after-copy", "after-delete")

#: Files that are done side by side; where none of these can be, the rest is not tried.
_SIDE_BY_SIDE = 200
#: Files of notes that one run tries again, the oldest ones: new files do not wait for long.
_MOST_NOTED = 2_000
#: Seconds that a run gives to them, to a group of them: copies of large files take theirs.
_NOTED_FOR = 20
#: Seconds that a note rests before a run that events asked for tries it: what failed fails again a moment later.
_REST = 300


@dataclass(frozen=True)
class Loaded:
    """Bytes of an object that are wholly in the table.

    Attributes:
        etag: of the object as it lies there.
        size: bytes.
        checksum: as in the ledger.
        known: the etag by which the ledger knows these bytes.
    """

    etag: str
    size: int | None = None
    checksum: str | None = None
    known: str = ""

    @classmethod
    def of(cls, state: LastState, row: LedgerRow | None = None) -> Loaded:
        """As the ledger has them; by a later row for the same bytes, which may lie there with another etag."""
        etag = state.etag or ""
        return cls(row.etag if row and row.etag else etag, state.size, state.checksum, etag)


@dataclass
class AfterLoad:
    """What became of files.

    Attributes:
        done: how many were tagged, or taken away.
        taken: etags of the files that were taken away, by key.
        failed: files that could not be done, with the reason; empty where it was not tried.
        retired: a reset ended the table's generation, so the rest was left as it is.
    """

    done: int = 0
    taken: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    retired: GenerationRetired | None = None


def after_batch(table: Table, batch: Batch, log: Callable[[str], None]) -> None:
    """Take away or tag the files of a batch that is in the ledger, as lake.yaml says."""
    if table.spec.after_load == "keep":
        return
    rows = [row for row in batch.rows if row.etag]
    loaded = {
        row.key: Loaded(row.etag or "", row.size, row.checksum, row.etag or "")
        for row in rows
        if row.status == Status.COMMITTED and not row.bad_rows
    }
    # A duplicate may be one of a file that is in the quarantine, wholly or in part: the ledger knows.
    asked = {row.key: row for row in rows if row.status == Status.DUPLICATE and row.key not in loaded}
    _settle(table, batch.n, {**_loaded(table, asked), **loaded}, log)


def after_notes(
    table: Table,
    log: Callable[[str], None],
    *,
    at_once: bool = True,
    now: Callable[[], float] = time.time,
) -> None:
    """Try again what earlier runs could not do, as much as one run does.

    Args:
        table: the table.
        log: takes progress, a line at a time.
        at_once: also what was noted a moment ago: for runs that a person asked for.
        now: the time, in epoch seconds.
    """
    if table.spec.after_load == "keep":
        return
    ids = table.after_notes.ids()
    ids = oldest(ids, _MOST_NOTED, None if at_once else now() - _REST)
    if not ids:
        return
    notes = table.after_notes.read(ids)
    keys = {key: reason for note in notes for key, reason in note.keys.items()}
    # A note may have more keys than one run does.
    some = sorted(keys)[:_MOST_NOTED]
    log(f"after load: {len(some)} files of earlier batches are tried again")
    # What fails is noted anew, behind the others: no note keeps those after it from their turn.
    until = now() + _NOTED_FOR
    _settle(table, table.ledger.clock()[1], _loaded(table, dict.fromkeys(some)), log, lambda: now() < until)
    table.after_notes.put({key: keys[key] for key in sorted(keys)[_MOST_NOTED:]}, table.spec.max_files)
    table.after_notes.delete(ids)


def note_what_lies_there(table: Table, present: Mapping[str, str], states: Mapping[str, LastState]) -> int:
    """Note the files of a listing that were loaded and should not lie there any more; how many.

    Args:
        table: the table.
        present: etags of the objects under its prefix.
        states: what the ledger says of keys.
    """
    if not takes_away(table.spec.after_load):
        return 0
    left = {
        key: ""
        for key, etag in present.items()
        if key in states and _is_loaded(states[key]) and states[key].etag == etag
    }
    table.after_notes.put(left, table.spec.max_files)
    return len(left)


def _loaded(table: Table, asked: Mapping[str, LedgerRow | None]) -> dict[str, Loaded]:
    """Those of these keys whose last bytes are wholly in the table, and are those of the row that is given."""
    if not asked:
        return {}
    version, n = table.ledger.clock()
    states = table.ledger.memory(version, n, sorted(asked))[1]
    return {
        key: Loaded.of(state, row)
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
    goes_on: Callable[[], bool] = lambda: True,
) -> None:
    """Do it, and leave durably what is to be told and what is left, before whatever asked for it is deleted."""
    if not loaded:
        return
    found = act(table, loaded, n, goes_on)
    # The ledger may know these bytes by another etag.
    hints = [Hint(key, event_name=TAKEN, taken=loaded[key].known or etag) for key, etag in found.taken.items()]
    most = table.spec.max_files
    table.inbox.put(chunked(table.text, "after", hints, most))
    table.after_notes.put(found.failed, most)
    log(f"after load: {found.done} of {len(loaded)} files done" + _told(found.failed))
    if found.retired:
        raise found.retired


def _told(failed: Mapping[str, str]) -> str:
    reasons = [reason for reason in failed.values() if reason]
    return f", {len(failed)} are tried again by the next run: {reasons[0]}" if reasons else ""


def act(table: Table, loaded: Mapping[str, Loaded], n: int, goes_on: Callable[[], bool] = lambda: True) -> AfterLoad:
    """Take away or tag files.

    Before each group of files it looks whether a reset has ended the table's generation: that counts on the files that
    lie there, and their rows would come back from nowhere else.

    Args:
        table: the table, with an ``after_load`` other than ``keep``.
        loaded: the bytes that are in the table, by key.
        n: a batch that was decided in this generation.
        goes_on: asked before each further group of files; where it says no, the rest is left for the next run.
    """
    found = AfterLoad()
    if why := _forbids(table):
        found.failed = dict.fromkeys(loaded, why)
        return found

    def one(item: tuple[str, Loaded]) -> tuple[str, str, bool | str]:
        key, bytes = item
        try:
            return key, bytes.etag, _one(table, key, bytes)
        except StoreError as error:
            return key, bytes.etag, str(error)

    rest = dict(loaded)
    while part := list(islice(rest.items(), _SIDE_BY_SIDE)):
        try:
            n = table.batches.require_current(n)
        except GenerationRetired as retired:
            found.retired = retired
            return found
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
        if errors == len(part) or not goes_on():
            break
    found.failed |= dict.fromkeys(rest, "")
    return found


def _forbids(table: Table) -> str | None:
    birth = table.birth or table.lake.store.births.read(table.text)
    if birth is None or birth.registered:
        return "the table's files are registered, and are read where they lie: take after_load out of lake.yaml"
    if takes_away(table.spec.after_load):
        try:
            table.lake.store.identity.prove_conditional_delete()
        except StoreError as error:
            return str(error)
    return None


def _one(table: Table, key: str, bytes: Loaded) -> bool:
    """Take away or tag one file; whether it is done, False where these bytes lie there no more."""
    after_load, bucket, etag = table.spec.after_load, table.key.bucket, bytes.etag
    if isinstance(after_load, MoveOrTag) and after_load.tag:
        return _tag(table, bucket, key, etag, after_load.tag)
    moved = isinstance(after_load, MoveOrTag) and _copy(table, key, bytes, after_load.move or "")
    if isinstance(after_load, MoveOrTag) and not moved:
        return False
    seam("after-copy")
    gone = _delete(table, bucket, key, etag)
    seam("after-delete")
    return gone


def _copy(table: Table, key: str, bytes: Loaded, folder: str) -> bool:
    """Copy a file to where it is moved; False where these bytes lie there no more, and were not copied before.

    It goes under its plain name where that is free, else under one with its etag, which only such a copy has.
    """
    bucket, path = S3Address.parse(folder)
    relative = key[len(table.key.prefix) :]
    source = (table.key.bucket, key, bytes.etag)
    plain, own = moved_key(path, relative), moved_key(path, relative, bytes.etag)
    objects = table.lake.store.objects

    def lies(target: str) -> S3Found | None:
        match objects.head(bucket, target):
            case S3Found() as found:
                return found
            case S3Gone():
                return None
            case answer:
                raise StoreError(f"{S3Address(bucket, target)}: {answer}")

    for target in (plain, own):
        there = lies(target)
        if there is None:
            try:
                objects.copy(*source, bucket, target, only_new=True)
                return True
            except ObjectTaken:
                there = lies(target)  # by somebody else, a moment ago; or by our own copy, whose answer was lost
            except ObjectGone:
                # By an earlier attempt, whose copy may have another etag; or by its producer.
                copied = lies(plain), lies(own)
                return any(one is not None and bytes.size in (None, one.size) for one in copied)
            except ObjectChanged:
                return False
        if there is not None and (target == own or same_bytes(there, bytes)):
            return True
    raise StoreError(f"{S3Address(bucket, own)} comes and goes: somebody else writes there")


def _delete(table: Table, bucket: str, key: str, etag: str) -> bool:
    objects = table.lake.store.objects
    try:
        objects.delete_if(bucket, key, etag)
    except ObjectGone:
        pass  # by an earlier attempt, or by its producer: its rows are in the table, and it is not there
    except ObjectChanged:
        # A version that was deleted is no present object, and S3 may say 412 of it as well.
        return isinstance(objects.head(bucket, key), S3Gone)
    return True


def _tag(table: Table, bucket: str, key: str, etag: str, wanted: Mapping[str, str]) -> bool:
    """Tags have no condition on the etag: those of a version stay its own, else a second look takes ours off again."""
    objects = table.lake.store.objects
    lies = objects.head(bucket, key)
    if isinstance(lies, S3Gone):
        return False
    if not isinstance(lies, S3Found):
        raise StoreError(f"{S3Address(bucket, key)}: {lies}")
    if lies.etag != etag:
        return _untag(table, bucket, key, wanted)
    try:
        before = objects.tags(bucket, key, lies.version_id)
        if wanted.items() <= before.items():
            return True
        objects.put_tags(bucket, key, {**before, **wanted}, lies.version_id)
        after = objects.head(bucket, key)
        if lies.version_id is None and isinstance(after, S3Found) and after.etag != etag:
            return _untag(table, bucket, key, wanted)
    except ObjectGone:
        return False
    return True


def _untag(table: Table, bucket: str, key: str, wanted: Mapping[str, str]) -> bool:
    """Take our tags off an object whose bytes are not those that were loaded; False."""
    objects = table.lake.store.objects
    try:
        tags = objects.tags(bucket, key)
        if tags.items() & wanted.items():
            objects.put_tags(bucket, key, dict(tags.items() - wanted.items()))
    except ObjectGone:
        pass
    return False
