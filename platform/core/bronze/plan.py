"""What to do with the keys of a set of hints: S3's present state against the ledger's last one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.ledger import (
    OVERWRITTEN,
    SETTLED,
    LastState,
    LedgerRow,
    Status,
    bounded,
    columns_of,
)
from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.bronze.same_bytes import same_bytes

#: Bytes, as they lie in S3, that one batch loads: what is more waits for the next, so that a run ends in its time.
BATCH_BYTES = 4 << 30

_ROW = columns_of(LedgerRow)


@dataclass(frozen=True)
class TakenHint:
    """A hint and the manifest that it was taken from."""

    hint: Hint
    manifest: str


@dataclass(frozen=True)
class Candidate:
    """A key whose present object should enter the table.

    Attributes:
        replaces: the batch whose rows of the same bytes leave the table when this one's enter: a redrive's or a
            rebuild's.
    """

    key: str
    found: S3Found
    taken: TakenHint
    replaces: int | None = None

    def seen_as(self, found: Probe | None) -> Candidate:
        """The same with the checksum that a later sight of the same etag brought."""
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
    ) -> LedgerRow:
        """The ledger row that ends this candidate."""
        return ledger_row(self.taken, status, reason, self.found, rows=rows, bad_rows=bad_rows)


@dataclass
class Plan:
    """The look's result.

    Attributes:
        candidates: objects to prepare.
        rows: decisions that need no preparation.
        drop: keys whose live entry in a registered table is to be removed, with the row to write: once where the
            entry turns out to be live, and once where it does not.
        deferred: hints about which S3 did not say.
        followers: further hints of a candidate's key; they share its fate.
    """

    candidates: list[Candidate] = field(default_factory=list)
    rows: list[LedgerRow] = field(default_factory=list)
    drop: dict[str, tuple[LedgerRow, LedgerRow]] = field(default_factory=dict)
    deferred: list[Hint] = field(default_factory=list)
    followers: dict[str, list[TakenHint]] = field(default_factory=dict)


def make_plan(
    taken: Sequence[TakenHint],
    probes: Mapping[str, Probe],
    states: Mapping[str, LastState],
    *,
    registered: bool,
) -> Plan:
    """Decide every hint by its key's present state (docs/internals/architecture.md, section 3, look).

    Args:
        taken: the hints of the manifests taken, oldest first.
        probes: the HEAD of every key in ``taken``.
        states: the ledger's last state of the keys that it knows.
        registered: whether the table follows its files (register) or keeps their rows (load).
    """
    plan = Plan()
    by_key: dict[str, list[TakenHint]] = {}
    for item in taken:
        by_key.setdefault(item.hint.key, []).append(item)
    for key, items in by_key.items():
        probe, state = probes[key], states.get(key)
        # What after-load took away is no event: where there is one too, that gets the row.
        lead = next((item for item in reversed(items) if item.hint.taken is None), items[-1])
        others = [item for item in items if item is not lead]
        if isinstance(probe, S3Unavailable):
            plan.deferred += [item.hint for item in items]
            continue
        if isinstance(probe, S3Found) and _wants(probe, state, items, registered):
            replaces = _replaces(probe, state, items) if state else None
            plan.candidates.append(Candidate(key, probe, lead, replaces))
            plan.followers[key] = others
            continue
        plan.rows += _duplicates(others, probe if isinstance(probe, S3Found) else None)
        taken_away = {item.hint.taken for item in items if item.hint.taken}
        if isinstance(probe, S3Gone) and (etag := _moved(state, taken_away)):
            plan.rows.append(_keeping(ledger_row(lead, Status.MOVED, None, None), state, etag))
            continue
        _decide(plan, key, probe, state, lead, registered)
    return plan


def followers_rows(plan: Plan, key: str, found: S3Found) -> list[LedgerRow]:
    """Rows for the further events of a candidate's key, once the candidate is decided."""
    return _duplicates(plan.followers.get(key, []), found)


def candidate_hints(plan: Plan, candidate: Candidate) -> list[Hint]:
    """Every hint of a candidate's key: what goes back to the inbox when the candidate is put off."""
    return [item.hint for item in [*plan.followers.get(candidate.key, []), candidate.taken]]


def ledger_row(
    item: TakenHint,
    status: Status,
    reason: str | None,
    found: S3Found | None,
    *,
    rows: int | None = None,
    bad_rows: int | None = None,
) -> LedgerRow:
    """The ledger row of one hint: what the event said and what S3 shows have the columns' names."""
    seen = {
        name: value
        for source in (item.hint, found)
        if source is not None
        for name, value in vars(source).items()
        if name in _ROW and value is not None
    }
    return LedgerRow(
        **seen, status=status, reason=bounded(reason), manifest=item.manifest, rows=rows, bad_rows=bad_rows
    )


def _wants(probe: S3Found, state: LastState | None, items: Sequence[TakenHint], registered: bool) -> bool:
    if state is None:
        return True
    if _settles(state, registered):
        return not registered and (not same_bytes(probe, state) or _replaces(probe, state, items) is not None)
    if state.status in (Status.REMOVED, Status.UNAPPLIED):
        return True
    if any(item.hint.redriven for item in items):
        return True
    # Quarantined: the same bytes stay there until somebody redrives them. A write-once key that was overwritten
    # stays there whatever its bytes are.
    return not same_bytes(probe, state) and not (registered and (state.reason or "").startswith(OVERWRITTEN))


def _settles(state: LastState, registered: bool) -> bool:
    """Whether the bytes that the state names are accounted for: seeing them again changes nothing."""
    return state.status in SETTLED or (state.in_table and not registered)


def _replaces(probe: S3Found, state: LastState, items: Sequence[TakenHint]) -> int | None:
    """The batch that brought an object that is in the table and is read again; None if it is not.

    A person says so: of one of which rows were set apart, and in a rebuild. What a rebuild knew holds as long as the
    ledger says nothing new of the key, so a hint that comes twice, or late, replaces nothing.
    """
    if not same_bytes(probe, state) or not state.in_table:
        return None
    if state.partly and any(item.hint.redriven for item in items):
        return state.n
    return next((item.hint.replaces for item in items if item.hint.decided == state.n), None)


def _moved(state: LastState | None, taken_away: Collection[str]) -> str | None:
    """The etag of the bytes whose absence is our own doing; None if it is not, or the ledger knows it already."""
    if state is None:
        return None
    if state.status in (Status.COMMITTED, Status.REMOVED) and state.etag in taken_away:
        # Where it is removed, a run beside ours saw that before it was told whose doing it was.
        return state.etag
    # A removal in an older ledger does not say of which bytes.
    return next(iter(taken_away), None) if state.status == Status.REMOVED and state.etag is None else None


def _keeping(row: LedgerRow, state: LastState | None, etag: str | None) -> LedgerRow:
    """The row of an object that is gone, whose rows stay in the table: with what tells its bytes."""
    if state is None or state.etag != etag:
        return replace(row, etag=etag)
    return replace(row, etag=etag, size=state.size, checksum=state.checksum, bad_rows=state.bad_rows)


def _decide(plan: Plan, key: str, probe: Probe, state: LastState | None, lead: TakenHint, registered: bool) -> None:
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
            plan.rows.append(_keeping(row, state, state.etag) if live and state is not None else row)
        case S3Forbidden(detail):
            plan.rows.append(ledger_row(lead, Status.QUARANTINED, f"access denied: {detail}", None))
        case S3Found() if live and state is not None and same_bytes(probe, state):
            if lead.hint.event_id:
                plan.rows.append(ledger_row(lead, Status.DUPLICATE, None, probe))
        case S3Found() if live:
            reason = (
                f"{OVERWRITTEN}: keys of a registered table are write-once; the old rows were removed. "
                "Write the new content under a new key"
            )
            row = ledger_row(lead, Status.QUARANTINED, reason, probe)
            plan.drop[key] = (row, row)
        case S3Found():
            if lead.hint.event_id:
                plan.rows.append(ledger_row(lead, Status.QUARANTINED, state.reason if state else None, probe))
        case S3Unavailable():
            raise AssertionError("unavailable keys are deferred before they are decided")


def _duplicates(items: Sequence[TakenHint], found: S3Found | None) -> list[LedgerRow]:
    return [
        ledger_row(item, Status.DUPLICATE, "another event of this key decided it", found)
        for item in items
        if item.hint.event_id
    ]
