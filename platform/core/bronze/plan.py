"""Plans a batch: compares S3's present state of each key with the ledger's last one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegate.platform.core.bronze.batch import SignalDecision
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.hint import Covered, Hint, RemovedByAfterLoad, hint_to_dict
from tidegate.platform.core.bronze.ledger import (
    ROW_COLUMNS,
    SETTLED,
    Cause,
    Header,
    LastState,
    LedgerRow,
    Status,
    shorten_reason,
)
from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone, S3Unavailable, same_bytes

#: Bytes in S3 that one batch loads. The rest waits for the next batch, so that a run does not take too long.
BATCH_BYTES = 4 << 30


@dataclass(frozen=True)
class PlannedHint:
    """A hint and the id of its manifest."""

    hint: Hint
    manifest: str


@dataclass(frozen=True)
class Candidate:
    """A key whose present object should enter the table.

    Attributes:
        replaces: batch whose rows of the same bytes are removed when this batch adds the key's rows. Set by a redrive
            or a rebuild.
        replaces_all: whether all rows that the table has of the key are removed when this batch adds its rows.
    """

    key: str
    found: S3Found
    taken: PlannedHint
    replaces: int | None = None
    replaces_all: bool = False

    def with_checksum_of(self, found: Probe | None) -> Candidate:
        """Return the candidate with the checksum of a later HEAD, if that has the same etag."""
        if not isinstance(found, S3Found) or found.etag != self.found.etag or self.found.checksum:
            return self
        return replace(self, found=replace(self.found, checksum=found.checksum))

    def row(
        self,
        status: Status,
        reason: str | None = None,
        *,
        rows: int | None = None,
        bad_rows: int | None = None,
        bad_rows_folder: str | None = None,
    ) -> LedgerRow:
        """Return the ledger row that decides this candidate."""
        row = ledger_row(self.taken, status, reason, self.found, rows=rows, bad_rows=bad_rows)
        return replace(row, bad_rows_folder=bad_rows_folder)


@dataclass(frozen=True)
class RowsOfObjects:
    """What the rows of an object in a loaded table do after the object has changed, as `lake.yaml` says.

    Attributes:
        replaced: whether they leave when other bytes of the key enter (`on_overwrite: replace`).
        removed: whether they leave when the object is gone (`on_removed: delete`).
    """

    replaced: bool = False
    removed: bool = False


@dataclass(frozen=True)
class Leaving:
    """A key that is gone from S3, and whose rows leave the table.

    Attributes:
        hint: decides the key.
        without_rows: the ledger row of the key if the table has no rows of it. None if it needs none.
    """

    hint: PlannedHint
    without_rows: LedgerRow | None

    def row(self, removed_rows: int) -> LedgerRow:
        """Return the ledger row of the removal. Without an etag, it names no bytes that stay."""
        return replace(ledger_row(self.hint, Status.REMOVED, None, None), removed_rows=removed_rows)


@dataclass(frozen=True)
class Dataset:
    """Objects that enter the table together or not at all, because a completion signal covers them.

    Attributes:
        signal: the hint of the signal that decides it.
        followers: further hints of the signal.
        found: the signal.
        keys: the parts that this batch should add.
        parts: number of all parts. The others are in the table already.
    """

    signal: PlannedHint
    followers: tuple[PlannedHint, ...]
    found: S3Found
    keys: frozenset[str]
    parts: int


@dataclass
class Plan:
    """The decisions of the step look.

    Attributes:
        candidates: objects to prepare.
        rows: ledger rows of decisions that need no preparation.
        drop: keys whose live entry in a registered table must be removed, with two ledger rows: the first is written if
            the entry is live, the second if it is not.
        leaving: keys whose rows leave a loaded table.
        deferred: hints for whose keys S3 gave no answer.
        followers: further hints of each candidate's key. They are decided with the candidate.
        datasets: candidates that must enter together. Empty unless the table has completion signals.
        signals: which signals wait after the batch, and which do not wait any more.
    """

    candidates: list[Candidate] = field(default_factory=list)
    rows: list[LedgerRow] = field(default_factory=list)
    drop: dict[str, tuple[LedgerRow, LedgerRow]] = field(default_factory=dict)
    leaving: dict[str, Leaving] = field(default_factory=dict)
    deferred: list[Hint] = field(default_factory=list)
    followers: dict[str, list[PlannedHint]] = field(default_factory=dict)
    datasets: list[Dataset] = field(default_factory=list)
    signals: list[SignalDecision] = field(default_factory=list)

    def defer(self, keys: Collection[str]) -> None:
        """Remove candidates. Their hints return to the inbox."""
        leaving = set(keys)
        for candidate in self.candidates:
            if candidate.key in leaving:
                self.deferred += candidate_hints(self, candidate)
        self.candidates = [candidate for candidate in self.candidates if candidate.key not in leaving]

    def keep_rows_to_remove(self, keys: Collection[str]) -> None:
        """Remove no rows of keys of which the table has none.

        Args:
            keys: of which the table has rows.
        """
        self.candidates = [
            replace(candidate, replaces_all=candidate.replaces_all and candidate.key in keys)
            for candidate in self.candidates
        ]
        ended = [self.leaving.pop(key) for key in [*self.leaving] if key not in keys]
        self.rows += [leaving.without_rows for leaving in ended if leaving.without_rows]


def keep_first_bytes(plan: Plan) -> None:
    """Leave the first candidates in a plan: up to `BATCH_BYTES`, and at least one. The others are deferred.

    The parts of a dataset stay together. The plan of datasets has bounded their bytes.
    """
    together = {key for dataset in plan.datasets for key in dataset.keys}
    size, over = 0, list[str]()
    for place, candidate in enumerate(plan.candidates):
        size += candidate.found.size
        if size > BATCH_BYTES and candidate.key not in together and place > len(over):
            over.append(candidate.key)
    plan.defer(over)


def make_plan(
    taken: Sequence[PlannedHint],
    probes: Mapping[str, Probe],
    states: Mapping[str, LastState],
    *,
    registered: bool,
    type_of_key: Callable[[str], str | None] = lambda _: None,
    rows_of_objects: RowsOfObjects = RowsOfObjects(),
) -> Plan:
    """Decide every hint by its key's present state (docs/internals/architecture.md, section 3, look).

    Args:
        taken: hints, oldest first.
        probes: S3's state of every key in `taken`.
        states: the ledger's last state of each key that it knows.
        registered: whether the table registers its files or loads their rows.
        type_of_key: the event type of an object without an event, if its key decides it.
        rows_of_objects: what rows do whose object has changed. No effect if the table is registered.
    """
    plan = Plan()
    by_key: dict[str, list[PlannedHint]] = {}
    for item in taken:
        by_key.setdefault(item.hint.key, []).append(item)
    for key, items in by_key.items():
        probe, state = probes[key], states.get(key)
        # A file that after-load removed is not an event. If the key also has an event, the event gets the row.
        lead = next(
            (item for item in reversed(items) if not isinstance(item.hint.cause, RemovedByAfterLoad)), items[-1]
        )
        others = [item for item in items if item is not lead]
        if isinstance(probe, S3Unavailable):
            plan.deferred += [item.hint for item in items]
            continue
        lead = _add_event_type(lead, items, state, type_of_key)
        if isinstance(probe, S3Found) and _should_ingest(probe, state, items, registered):
            replaces = _replaces(probe, state, items) if state else None
            replaces_all = rows_of_objects.replaced and state is not None and not registered
            plan.candidates.append(Candidate(key, probe, lead, replaces, replaces_all))
            plan.followers[key] = others
            continue
        plan.rows += duplicates(others, probe if isinstance(probe, S3Found) else None)
        removed_etags = {item.hint.cause.etag for item in items if isinstance(item.hint.cause, RemovedByAfterLoad)}
        if isinstance(probe, S3Gone) and (etag := _removed_etag(state, removed_etags)):
            plan.rows.append(_keep_identity(ledger_row(lead, Status.MOVED, None, None), state, etag))
            continue
        if isinstance(probe, S3Gone) and rows_of_objects.removed and not registered and _may_lose_rows(state):
            alone = Plan()
            _decide(alone, key, probe, state, lead, registered)
            plan.leaving[key] = Leaving(lead, next(iter(alone.rows), None))
            continue
        _decide(plan, key, probe, state, lead, registered)
    return plan


def leaving_keys(plan: Plan, states: Mapping[str, LastState]) -> set[str]:
    """Return the keys whose rows leave because S3 has them no more. What had left an adopted table has none there."""
    return {key for key in plan.drop if states[key].cause is not Cause.LEFT} | plan.leaving.keys()


def followers_rows(plan: Plan, key: str, found: S3Found) -> list[LedgerRow]:
    """Return the ledger rows of the further events of a candidate's key, once the candidate is decided."""
    return duplicates(plan.followers.get(key, []), found)


def candidate_hints(plan: Plan, candidate: Candidate) -> list[Hint]:
    """Return every hint of a candidate's key. They return to the inbox if the candidate is deferred.

    The hint of a part that only its signal brought is left out: the signal's own hint returns.
    """
    hints = [item.hint for item in [*plan.followers.get(candidate.key, []), candidate.taken]]
    return [hint for hint in hints if not isinstance(hint.cause, Covered)]


def ledger_row(
    item: PlannedHint,
    status: Status,
    reason: str | None,
    found: S3Found | None,
    *,
    rows: int | None = None,
    bad_rows: int | None = None,
) -> LedgerRow:
    """Return the ledger row of one hint. Fields of the hint and of S3's state fill the columns of the same names."""
    # What S3's answer lacks must not erase what the event has: a column keeps the event's version of the object.
    answered = {name: value for name, value in vars(found).items() if value is not None} if found else {}
    given = {**hint_to_dict(item.hint, with_empty=False), **answered}
    seen = {name: value for name, value in given.items() if name in ROW_COLUMNS and value is not None}
    return LedgerRow(
        **seen, status=status, reason=shorten_reason(reason), manifest=item.manifest, rows=rows, bad_rows=bad_rows
    )


def _add_event_type(
    lead: PlannedHint,
    items: Sequence[PlannedHint],
    state: LastState | None,
    type_of_key: Callable[[str], str | None],
) -> PlannedHint:
    """Return the hint that decides a key, with an event type although it may come from no event.

    Without an event it has the type of the newest event among the key's hints, or else that of the key's last state,
    or else the one that the key gives.
    """
    if lead.hint.event_id:
        return lead
    event = next((item.hint for item in reversed(items) if item.hint.event_id), None)
    known = event or state
    found = known.event_type if known else None
    if found is None and event is None:
        found = type_of_key(lead.hint.key)
    return replace(lead, hint=replace(lead.hint, event_type=found)) if found else lead


def _should_ingest(probe: S3Found, state: LastState | None, items: Sequence[PlannedHint], registered: bool) -> bool:
    if state is None:
        return True
    if _settles(state, registered):
        return not registered and (not same_bytes(probe, state) or _replaces(probe, state, items) is not None)
    if state.status in (Status.REMOVED, Status.UNAPPLIED, Status.WAITING):
        return True
    if any(item.hint.decides_again or isinstance(item.hint.cause, Covered) for item in items):
        return True
    # Quarantined: the same bytes stay in quarantine until a redrive. An overwritten write-once key stays there,
    # whatever its bytes are.
    return not same_bytes(probe, state) and not (registered and state.cause is Cause.OVERWRITTEN)


def _may_lose_rows(state: LastState | None) -> bool:
    """Return whether the rows of an object that is gone leave. After-load removes an object to keep its rows."""
    return state is not None and state.status is not Status.MOVED


def _settles(state: LastState, registered: bool) -> bool:
    """Return whether the bytes of the state are accounted for, so that finding them again changes nothing."""
    return state.status in SETTLED or (state.in_table and not registered)


def _replaces(probe: S3Found, state: LastState, items: Sequence[PlannedHint]) -> int | None:
    """Return the batch whose rows are replaced when the object is read again. None if nothing is replaced.

    An object is read again after a redrive of its quarantined rows, and in a rebuild. A rebuild's hint is valid only
    until another batch decides the key, so a hint that comes twice, or late, replaces nothing.
    """
    if not same_bytes(probe, state) or not state.in_table:
        return None
    if state.partly and any(item.hint.decides_again for item in items):
        return state.n
    replacements = (item.hint.replaces for item in items if item.hint.replaces)
    return next((replaces.batch for replaces in replacements if replaces.decided == state.n), None)


def _removed_etag(state: LastState | None, removed_etags: Collection[str]) -> str | None:
    """Return the etag of the bytes that after-load removed. None if it did not, or if the ledger has it already."""
    if state is None:
        return None
    if state.status in (Status.COMMITTED, Status.REMOVED) and state.etag in removed_etags:
        # REMOVED: another run found the object gone before the hint of after-load arrived.
        return state.etag
    # A removal in an older ledger has no etag.
    return next(iter(removed_etags), None) if state.status == Status.REMOVED and state.etag is None else None


def _keep_identity(row: LedgerRow, state: LastState | None, etag: str | None) -> LedgerRow:
    """Return the row of an object that is gone while its rows stay in the table, with the identity of its bytes."""
    if state is None or state.etag != etag:
        return replace(row, etag=etag)
    return replace(row, etag=etag, size=state.size, checksum=state.checksum, bad_rows=state.bad_rows)


def _decide(plan: Plan, key: str, probe: Probe, state: LastState | None, lead: PlannedHint, registered: bool) -> None:
    live = state is not None and _settles(state, registered)
    match probe:
        case S3Gone() if state is None:
            plan.rows.append(ledger_row(lead, Status.REMOVED, "gone before it was read", None))
        case S3Gone() if state is not None and state.status in (Status.REMOVED, Status.UNAPPLIED):
            if lead.hint.event_id:
                plan.rows.append(ledger_row(lead, Status.DUPLICATE, "already removed", None))
        case S3Gone() if state is not None and state.status == Status.MOVED and not registered:
            if lead.hint.event_id:
                plan.rows.append(ledger_row(lead, Status.DUPLICATE, "moved or deleted after it was loaded", None))
        case S3Gone() if live and registered:
            plan.drop[key] = (
                ledger_row(lead, Status.REMOVED, None, None),
                ledger_row(lead, Status.UNAPPLIED, "the object is gone, but the table has no live entry of it", None),
            )
        case S3Gone():
            row = ledger_row(lead, Status.REMOVED, None, None)
            plan.rows.append(_keep_identity(row, state, state.etag) if live and state is not None else row)
        case S3Forbidden(reason=why):
            plan.rows.append(ledger_row(lead, Status.QUARANTINED, why, None))
        case S3Found() if live and state is not None and same_bytes(probe, state):
            if lead.hint.event_id:
                plan.rows.append(ledger_row(lead, Status.DUPLICATE, None, probe))
        case S3Found() if live:
            reason = (
                "overwritten: keys of a registered table are write-once; the old rows were removed. "
                "Write the new content under a new key"
            )
            row = replace(ledger_row(lead, Status.QUARANTINED, reason, probe), cause=Cause.OVERWRITTEN)
            plan.drop[key] = (row, row)
        case S3Found():
            if lead.hint.event_id:
                plan.rows.append(_repeat_quarantine(lead, state, probe))
        case S3Unavailable():
            raise AssertionError("unavailable keys are deferred before they are decided")


def _repeat_quarantine(item: PlannedHint, state: LastState | None, found: S3Found) -> LedgerRow:
    """Return the row of a further event of bytes that are in quarantine."""
    row = ledger_row(item, Status.QUARANTINED, state.reason if state else None, found)
    return replace(row, cause=state.cause, bad_rows_folder=state.bad_rows_folder) if state else row


def duplicates(items: Sequence[PlannedHint], found: S3Found | None) -> list[LedgerRow]:
    """Return the ledger rows of further events of a key."""
    return [
        ledger_row(item, Status.DUPLICATE, "another event of this key decided it", found)
        for item in items
        if item.hint.event_id
    ]


@dataclass(frozen=True)
class BatchDraft:
    """The plan of batch n, before its files are prepared.

    Attributes:
        manifests: ids of the manifests whose hints the batch takes.
        states: the ledger's last state of each key in the hints.
        brought: the batches whose rows the table has of each key that loses its rows.
        previous: the ledger's last header. None before batch 1.
    """

    n: int
    birth: Birth
    previous: Header | None
    manifests: tuple[str, ...]
    plan: Plan
    states: Mapping[str, LastState]
    brought: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @property
    def after_version(self) -> int:
        """Delta version of this generation's last commit. -1 while there is no table."""
        return self.previous.bronze_version if self.previous else self.birth.after_version
