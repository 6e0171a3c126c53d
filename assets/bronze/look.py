"""Step 1, look: the table's clock, the hints waiting, and S3's present state of their keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.assets.bronze.removals import guard_removals, require_bucket
from tidegate.assets.bronze.small_objects import SmallObjects
from tidegate.platform.core.bronze.batch_draft import BatchDraft
from tidegate.platform.core.bronze.ledger import LastState
from tidegate.platform.core.bronze.manifest import is_note, is_rebuild
from tidegate.platform.core.bronze.object_state import Probe, S3Gone
from tidegate.platform.core.bronze.plan import BATCH_BYTES, TakenHint, make_plan
from tidegate.platform.core.keys.file_format import FORMATS, format_of
from tidegate.resources.lake import Table
from tidegate.resources.lake_root.inbox import WaitingManifest
from tidegate.resources.ledger import Clock
from tidegate.resources.parquet.tail import probe_with_footer
from tidegate.resources.threads import parallel


def look(
    table: Table, clock: Clock, waiting: Sequence[WaitingManifest] | None = None, *, allow_removals: bool = False
) -> BatchDraft | None:
    """Plan batch n+1 from the hints waiting; None if there are none.

    Args:
        table: the table.
        clock: the ledger's.
        waiting: the table's manifests as they were just listed; None: list them.
        allow_removals: let the batch remove most of a registered table's files.

    Raises:
        StoreError: the source bucket is gone or S3 does not answer.
        TooManyRemovals: see ``REMOVAL_SHARE``.
    """
    waiting = _in_order(table.inbox.waiting() if waiting is None else waiting)
    ids = _of_one_batch(waiting, table.spec.max_files)
    manifests = table.inbox.read(ids)
    if not manifests:
        return None
    taken = [TakenHint(hint, manifest.id) for manifest in manifests for hint in manifest.hints]
    keys = list(dict.fromkeys(item.hint.key for item in taken))
    previous, states = table.ledger.memory(clock.version, clock.n, keys)
    found = probes(table, keys, states, {item.hint.key: item.hint.size for item in taken})
    if any(isinstance(probe, S3Gone) for probe in found.values()):
        require_bucket(table)
    birth = table.lake.ensure_birth(table, keys[0])
    plan = make_plan(taken, found, states, registered=birth.registered)
    if not allow_removals:
        guard_removals(table, birth, len(plan.drop), [one.id for one in waiting[len(ids) :]])
    return BatchDraft(clock.n + 1, birth, previous, tuple(manifest.id for manifest in manifests), plan, states)


def _in_order(waiting: Sequence[WaitingManifest]) -> list[WaitingManifest]:
    """Notes of a lost server, of which the newest says most; then the others, oldest first, and a rebuild's last.

    Where there are notes a rebuild's are first: it may be what they tell of, and has to end with them.
    """
    notes = [one for one in waiting if is_note(one.id)]
    others = [one for one in waiting if not is_note(one.id)]
    return [*reversed(notes), *sorted(others, key=lambda one: is_rebuild(one.id) != bool(notes))]


def _of_one_batch(waiting: Sequence[WaitingManifest], most_hints: int) -> list[str]:
    """Ids of the manifests that one batch takes, whole, in their order; notes are taken beside the bound.

    Of a rebuild's no more than a batch loads: what is put off is asked for again by each batch, and a rebuild puts all
    of a table into the inbox.
    """
    ids = [one.id for one in waiting if is_note(one.id)]
    hints = size = 0
    for one in waiting[len(ids) :]:
        full = hints + one.hints > most_hints or (is_rebuild(one.id) and size + one.size > BATCH_BYTES)
        if hints and full:
            break
        ids.append(one.id)
        hints, size = hints + one.hints, size + one.size
    return ids


def probes(
    table: Table,
    keys: Sequence[str],
    states: Mapping[str, LastState],
    sizes: Mapping[str, int | None],
) -> dict[str, Probe]:
    """S3's present state of the keys.

    Of those that the ledger does not know it comes with what is needed of the object: the footer of Parquet, all bytes
    of what is small otherwise.

    Args:
        table: the table.
        keys: below its prefix.
        states: what the ledger knows of keys.
        sizes: bytes of the objects, as events said.
    """
    small = SmallObjects(table.source)

    def probe(key: str) -> tuple[str, Probe]:
        if key in states:
            return key, table.source.head(key)
        format = table.spec.format or format_of(key)
        if format and FORMATS[format].footer:
            return key, probe_with_footer(table.source, key)
        return key, small.probe(key, sizes.get(key))

    return dict(parallel(probe, keys))
