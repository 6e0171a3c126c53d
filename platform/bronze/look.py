"""Step 1, look: reads the waiting hints, the ledger's states and S3's present states, and plans a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from tidegate.platform.bronze.completion.datasets import plan_datasets
from tidegate.platform.bronze.prepare.parquet_candidates import probe_with_footer
from tidegate.platform.bronze.prepare.permission_guard import require_access
from tidegate.platform.bronze.prepare.read_timeouts import keep_first_part
from tidegate.platform.bronze.removal_guard import guard_removals, require_bucket
from tidegate.platform.bronze.small_objects import SmallObjects
from tidegate.platform.core.bronze.hint import Hint, Listed
from tidegate.platform.core.bronze.ledger import LastState
from tidegate.platform.core.bronze.manifest import is_listed, is_note, is_rebuild, was_deferred
from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone
from tidegate.platform.core.bronze.plan import (
    BATCH_BYTES,
    BatchDraft,
    PlannedHint,
    keep_first_bytes,
    leaving_keys,
    make_plan,
)
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.file_format import FORMATS, format_of
from tidegate.platform.core.routing.event_type import EventTypes
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.inbox import WaitingManifest
from tidegate.platform.lake.lake_root.waiting_notes import WaitingSignals
from tidegate.platform.lake.ledger import Clock
from tidegate.platform.lake.threads import parallel


def look(
    table: Table, clock: Clock, waiting: Sequence[WaitingManifest] | None = None, *, allow_removals: bool = False
) -> BatchDraft | None:
    """Plan batch n+1 from the waiting hints. Returns None if there are none.

    Args:
        waiting: the table's manifests, if they were just listed. If None, they are listed here.
        allow_removals: whether the batch may remove most of a registered table's files.

    Raises:
        StoreError: the source bucket does not exist, S3 does not answer, or it denies access to every object.
        DataError: as for `guard_removals`.
    """
    waiting = _sort_manifests(table.inbox.waiting_manifests() if waiting is None else waiting)
    ids = _select_manifests(waiting, table.spec.max_files)
    manifests = table.inbox.read(ids)
    if not any(manifest.hints for manifest in manifests):
        table.inbox.delete(manifest.id for manifest in manifests)  # They only let the table rest, and nothing waits.
        return None
    taken = [PlannedHint(hint, manifest.id) for manifest in manifests for hint in manifest.hints]
    taken += waiting_deliveries(table.spec, table.waiting_signals, taken)
    keys = list(dict.fromkeys(item.hint.key for item in taken))
    previous, states = table.ledger.memory(clock.version, clock.n, keys)
    if table.spec.completion:
        birth = table.lake.ensure_birth(table, keys[0])
        plan, states, found = plan_datasets(
            table, clock, taken, states, partial(probes, table.spec, table.source), registered=birth.registered
        )
        _require_bucket(table, found)
    else:
        found = probes(table.spec, table.source, keys, states, {item.hint.key: item.hint.size for item in taken})
        _require_bucket(table, found)
        birth = table.lake.ensure_birth(table, keys[0])
        # An object of a row queue's messages is not an event of S3.
        type_of_key = (
            (lambda _: None) if table.spec.row_queue else EventTypes(table.lake.config.event_types).find_type_of_key
        )
        plan = make_plan(
            taken,
            found,
            states,
            registered=birth.registered,
            type_of_key=type_of_key,
            rows_of_objects=table.spec.rows_of_objects,
        )
    if not birth.registered:
        keep_first_bytes(plan)
    keep_first_part(plan)
    losing = [*plan.leaving, *(candidate.key for candidate in plan.candidates if candidate.replaces_all)]
    brought = table.ledger.batches_of_rows(clock.version, losing)
    plan.keep_rows_to_remove(brought.keys())
    if not allow_removals:
        behind = [manifest.id for manifest in waiting[len(ids) :]]
        named = {hint.key for manifest in manifests if is_listed(manifest.id) for hint in manifest.hints}
        gone = leaving_keys(plan, states)
        guard_removals(table, clock, birth, len(gone), behind, of_list=len(named & gone))
    return BatchDraft(clock.n + 1, birth, previous, tuple(manifest.id for manifest in manifests), plan, states, brought)


def _require_bucket(table: Table, found: Mapping[str, Probe]) -> None:
    """Raise an error if S3's answers are about the bucket or the whole table, and not about its objects."""
    if any(isinstance(probe, S3Gone) for probe in found.values()):
        require_bucket(table.key, table.table_key, table.source)
    denied = {key: probe.detail for key, probe in found.items() if isinstance(probe, S3Forbidden)}
    own = any(probe.of_the_object for probe in found.values() if isinstance(probe, S3Forbidden))
    if not own and not any(isinstance(probe, S3Found | S3Gone) for probe in found.values()):
        require_access(table, denied)


def _sort_manifests(waiting: Sequence[WaitingManifest]) -> list[WaitingManifest]:
    """Sort manifests: server-loss notes (newest first), others (oldest first), a rebuild's, and at last a list's.

    If there are notes, a rebuild's manifests come right after them: the notes may be about files of the rebuild, which
    must be decided together with its hints. Hints of a list say nothing that its notes do not say.
    """
    notes = [manifest for manifest in waiting if is_note(manifest.id)]
    others = [manifest for manifest in waiting if not is_note(manifest.id)]

    def place(manifest: WaitingManifest) -> tuple[bool, bool]:
        listed = is_listed(manifest.id)
        return listed, not was_deferred(manifest.id) if listed else is_rebuild(manifest.id) != bool(notes)

    return [*reversed(notes), *sorted(others, key=place)]


def _select_manifests(waiting: Sequence[WaitingManifest], max_hints: int) -> list[str]:
    """Return the ids of the manifests that one batch takes. Server-loss notes do not count against the limit.

    A rebuild puts all files of a table into the inbox. Of its manifests a batch takes only as many bytes as it loads,
    because S3 is asked about each deferred hint again in the next batch. Nobody knows the sizes of the objects that a
    list names, so a batch takes one of its manifests.
    """
    ids = [manifest.id for manifest in waiting if is_note(manifest.id)]
    hints = size = 0
    for manifest in waiting[len(ids) :]:
        full = hints + manifest.hints > max_hints or (is_rebuild(manifest.id) and size + manifest.size > BATCH_BYTES)
        if hints and (full or is_listed(ids[-1])):
            break
        ids.append(manifest.id)
        hints, size = hints + manifest.hints, size + manifest.size
    return ids


def probes(
    spec: TableSpec,
    source: Bucket,
    keys: Sequence[str],
    states: Mapping[str, LastState],
    sizes: Mapping[str, int | None],
) -> dict[str, Probe]:
    """Read S3's present state of keys.

    For keys without a state in the ledger, the answer includes the bytes that loading needs: the footer of a Parquet
    file, or all bytes of another small object.

    Args:
        source: the bucket of its files.
        keys: keys under the table's prefix.
        states: the ledger's last states, by key.
        sizes: bytes of the objects according to their events, by key.
    """
    small = SmallObjects(source)

    def probe(key: str) -> tuple[str, Probe]:
        if key in states:
            return key, source.head(key)
        format = spec.format or format_of(key)
        if format and FORMATS[format].footer:
            return key, probe_with_footer(source, key)
        return key, small.probe(key, sizes.get(key))

    return dict(parallel(probe, keys))


def waiting_deliveries(
    spec: TableSpec, waiting_signals: WaitingSignals, taken: Sequence[PlannedHint]
) -> list[PlannedHint]:
    """Return hints of the deliveries that wait and that no hint of the batch names.

    S3 writes the checksum last. Where the bucket is replicated, other objects may come after it. Their events are not
    hints, and a run comes with the next delivery of any bucket.

    Args:
        taken: the hints of the batch.
    """
    if not spec.has_inventories or not taken:
        return []
    named = {item.hint.key for item in taken}
    waiting = waiting_signals.read_all()
    return [PlannedHint(Hint(key, Listed()), taken[-1].manifest) for key in waiting if key not in named]
