"""Rebuild: which files are read again, in which order, and that no early, late or repeated hint doubles a row."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.lakes.objects import Objects
from tests.support.lakes.seams import dying_in
from tidegate.platform.bronze import look
from tidegate.platform.bronze.look import _select_manifests, _sort_manifests
from tidegate.platform.bronze.reconcile.listing import replace_known_etags
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.hint import Event, Hint, Rebuild, RemovedByAfterLoad, Replacement
from tidegate.platform.core.bronze.ledger import LastState, LedgerRow, Status
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.bronze.object_state import S3Found, S3Gone
from tidegate.platform.core.bronze.plan import PlannedHint, make_plan
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake_root.inbox import WaitingManifest
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Clock, Reading
from tidegate.platform.operations import rebuild
from tidegate.platform.operations.rebuild import RebuildPlan, hints_of, plan_rebuild, rebuild_table

KEY = TableKey("landing", "orders/")
ORDERS = KEY.encode()


def _listed(key: str, etag: str = "e1") -> Listed:
    return Listed(key, etag, 10, 0.0)


def test_files_are_read_again_in_the_order_in_which_they_came() -> None:
    committed, moved = LastState(Status.COMMITTED, "e1", 7), LastState(Status.MOVED, "e1", 9)
    states = {
        "late": committed,
        "early": LastState(Status.COMMITTED, "e1", 2, bad_rows=1),
        "back": moved,
        "overwritten": LastState(Status.COMMITTED, "e0", 3),
        "bad": LastState(Status.QUARANTINED, "e1", 4, "no header"),
        "again": LastState(Status.REMOVED, None, 5),
        "returned": LastState(Status.REMOVED, "e1", 8),
        "_SUCCESS": LastState(Status.COMPLETE, "e1", 7),
        "waits": LastState(Status.WAITING, "e1", 8),
    }
    readings = [
        Reading("late", "e1", 4, 7, "2026-01-01T00:00:00+00:00"),
        Reading("early", "e1", 4, 2),
        Reading("back", "e1", 4, 6),
        Reading("overwritten", "e0", 4, 3),
        Reading("again", "e1", 4, 1),
        Reading("returned", "e1", 4, 5),
        Reading("gone", "e1", 4, 1),
    ]
    present = [_listed(key) for key in ("again", "back", "bad", "early", "late", "overwritten", "returned", "unknown")]
    present += [_listed(key) for key in ("_SUCCESS", "waits")]  # neither has rows that could be read again
    hints = hints_of(present, states, readings)
    assert [(hint.key, hint.cause) for hint in hints[:4]] == [
        ("early", Rebuild(Replacement(2, 2))),
        ("returned", Rebuild(Replacement(5, 8))),
        ("back", Rebuild(Replacement(6, 9))),
        ("late", Rebuild(Replacement(7, 7), "2026-01-01T00:00:00+00:00")),
    ]
    assert all(hint.event_time is None for hint in hints), "nothing has just happened to them"
    assert [hint.key for hint in hints[4:]] == ["again", "bad", "overwritten", "unknown"]
    assert all(hint.decides_again and hint.replaces is None for hint in hints[4:])
    assert not any(hint.decides_again for hint in hints[:4])


SAME = S3Found("e1", 10, 1)


@pytest.mark.parametrize(
    ("state", "probe", "replaces"),
    [
        (LastState(Status.COMMITTED, "e1", 3), SAME, [2]),
        (LastState(Status.MOVED, "e1", 3), SAME, [2]),
        (LastState(Status.COMMITTED, "e1", 4), SAME, []),
        (LastState(Status.MOVED, "e1", 4), SAME, []),
        (LastState(Status.COMMITTED, "e2", 4), S3Found("e2", 10, 1), []),
        (LastState(Status.COMMITTED, "e1", 3), S3Found("e2", 10, 1), [None]),
        (LastState(Status.QUARANTINED, "e1", 4, "none"), SAME, []),
        (LastState(Status.COMMITTED, "e1", 3), S3Gone(), []),
    ],
    ids=["in the table", "moved and back", "read since", "moved since", "overwritten since", "not loaded yet",
         "quarantined since", "gone since"],
)  # fmt: skip
def test_a_hint_of_a_rebuild_replaces_what_the_ledger_still_says(
    state: LastState, probe: Any, replaces: list[int | None]
) -> None:
    taken = [PlannedHint(Hint("k", Rebuild(Replacement(2, 3))), "m"), PlannedHint(Hint("k", Event("e#0")), "m")]
    plan = make_plan(taken, {"k": probe}, {"k": state}, registered=False)
    assert [candidate.replaces for candidate in plan.candidates] == replaces


class _Table:
    """Two keys of a loaded table: in S3, in the ledger and in the table. The real plan decides their changes."""

    def __init__(self) -> None:
        self.n = 0
        #: By key: the content, and the etag that this copy of it has.
        self.objects: dict[str, tuple[str, str]] = {}
        self.last: dict[str, str] = {}
        self.copies = 0
        self.states: dict[str, LastState] = {}
        #: Key, etag, batch and content of each reading whose rows are there.
        self.rows: list[tuple[str, str, int, str]] = []
        self.put: set[tuple[str, str]] = set()
        self.hints: list[Hint] = []

    def do(self, what: str, key: str) -> None:
        known, copy = self.states.get(key), self.objects.get(key)
        if what == "write":
            self.last[key] = f"{key}{self.copies}"
            self._put_copy(key)
        elif what == "remove" and copy:
            del self.objects[key]
            self._add_hint(key)
        elif what == "put back" and not copy and key in self.last:
            self._put_copy(key)
        elif what == "move away" and known and copy and known.checksum == copy[0] and known.status == Status.COMMITTED:
            del self.objects[key]
            self.hints.append(Hint(key, RemovedByAfterLoad(known.etag)))
        elif what == "rebuild":
            readings = [Reading(*row[:2], 1, row[2], None, 1, row[3]) for row in self.rows]
            present = [_listed(key, etag) for key, (_, etag) in self.objects.items()]
            head = {key: self._probe(key) for key in self.objects}
            source = SimpleNamespace(head_many=lambda keys: {k: head[k] for k in keys})
            present = [replace(item, size=1) for item in present]
            present = replace_known_etags(source, present, readings)  # type: ignore[arg-type]
            self.hints += hints_of(present, self.states, readings)

    def _put_copy(self, key: str) -> None:
        """Give each copy an etag of its own, as a bucket does that KMS encrypts."""
        self.copies += 1
        self.objects[key] = self.last[key], f"e{self.copies}"
        self._add_hint(key)

    def _add_hint(self, key: str) -> None:
        self.hints.append(Hint(key, Event(f"{len(self.hints)}#0")))

    def batch(self, taken: list[Hint]) -> None:
        """Process some hints as a run does. Some may be old."""
        self.n += 1
        probes = {hint.key: self._probe(hint.key) for hint in taken}
        plan = make_plan([PlannedHint(hint, "m") for hint in taken], probes, self.states, registered=False)
        for candidate in plan.candidates:
            content = candidate.found.checksum or ""
            if candidate.replaces is not None:
                self.rows.remove((candidate.key, self.states[candidate.key].etag or "", candidate.replaces, content))
            self.rows.append((candidate.key, candidate.found.etag, self.n, content))
            self.put.add((candidate.key, content))
            self._record(candidate.row(Status.COMMITTED))
        for row in plan.rows:
            if row.status in (Status.REMOVED, Status.MOVED):
                self._record(row)

    def _record(self, row: LedgerRow) -> None:
        self.states[row.key] = LastState(row.status, row.etag, self.n, size=row.size, checksum=row.checksum)

    def _probe(self, key: str) -> S3Found | S3Gone:
        if key not in self.objects:
            return S3Gone()
        content, etag = self.objects[key]
        return S3Found(etag, 1, 1, checksum=content)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["write", "remove", "put back", "move away", "rebuild", "rebuild"]),
            st.sampled_from("ab"),
            st.lists(st.integers(0, 99), max_size=3),
        ),
        min_size=3,
        max_size=12,
    )
)
def test_whatever_comes_when_and_how_often_each_file_is_in_the_table_once(
    course: list[tuple[str, str, list[int]]],
) -> None:
    table = _Table()
    for what, key, some in course:
        table.do(what, key)
        if table.hints:
            table.batch([table.hints[number % len(table.hints)] for number in some])
    assert sorted((key, content) for key, _, _, content in table.rows) == sorted(table.put)


def test_events_go_before_a_rebuild_which_takes_what_one_batch_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    def waits(id: str, hints: int, size: int) -> WaitingManifest:
        return WaitingManifest(ORDERS, id, hints, 0.0, size)

    first, second, third = (waits(f"rebuild-01HXYZ000{i}000000000000000A-4-9-0", 4, 9) for i in range(3))
    event = waits("01HXYZ0009000000000000000A-4-9-0", 4, 9)
    ordered = _sort_manifests([first, second, third, event])
    assert ordered == [event, first, second, third]
    assert _select_manifests(ordered, 12) == [event.id, first.id, second.id]
    monkeypatch.setattr(look, "BATCH_BYTES", 18)
    assert _select_manifests(ordered, 12) == [event.id, first.id]
    assert _select_manifests([event, waits("01HXYZ0009000000000000000B-4-9-0", 4, 99)], 13) == [
        event.id, "01HXYZ0009000000000000000B-4-9-0",
    ], "what registers files has no bound of bytes"  # fmt: skip
    assert _select_manifests([waits(first.id, 1, 99)], 13) == [first.id], "a large file alone"


@pytest.fixture
def lake() -> Any:
    """Return a lake with a table of three files, of which S3 has two."""
    objects = Objects()
    store = LakeStore(objects, "s3://lake/root")  # type: ignore[arg-type]
    spec = TableSpec.model_validate({"name": "orders", "prefix": KEY.uri, "format": "csv", "max_files": 1})
    readings = [Reading(key, "etag", 5, 1) for key in ("orders/a.csv", "orders/b.csv", "orders/gone.csv")]
    ledger = SimpleNamespace(
        clock=lambda: Clock(3, 4),
        live_keys=lambda version: {reading.key: LastState(Status.COMMITTED, "etag", 1) for reading in readings},
        committed_readings=lambda version: readings,
    )
    birth = Birth("g", "s3a://lake/root/bronze/orders", "orders", registered=False)
    schema = TableSchema((Field("id", simple_type("bigint")),))
    for key in ("orders/a.csv", "orders/b.csv"):
        objects.bodies[key] = "id\n1\n"
    handles: Any = SimpleNamespace(
        store=store,
        birth=birth,
        delta=SimpleNamespace(table_state=lambda location: SimpleNamespace(schema=schema)),
        config=SimpleNamespace(table_for=lambda key: spec, tables=[spec]),
    )
    handles.table = lambda table_key: SimpleNamespace(
        lake=handles,
        delta=handles.delta,
        key=KEY,
        table_key=table_key,
        spec=spec,
        birth=birth,
        ledger=ledger,
        inbox=store.inbox.table_inbox(table_key),
        source=Bucket(objects, KEY.bucket),  # type: ignore[arg-type]
    )
    return handles


@pytest.fixture(autouse=True)
def _every_object_is_the_table_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave routing to its own test."""
    monkeypatch.setattr(rebuild, "own_objects", lambda source, table, _: source.list_under(table.prefix))


def _waiting(lake: Any) -> list[Hint]:
    ids = [manifest.id for manifest in lake.store.inbox.waiting_manifests(ORDERS)]
    return sorted(
        (h for manifest in lake.store.inbox.table_inbox(ORDERS).read(ids) for h in manifest.hints),
        key=lambda hint: hint.key,
    )


def test_a_rebuild_is_on_record_before_its_hints_and_names_what_stays(lake: Any) -> None:
    log: list[str] = []
    with dying_in(rebuild, "rebuild-log"):
        rebuild_table(lake, ORDERS, by="somebody", log=log.append)
    assert (_waiting(lake), log) == ([], [])
    (entry,) = lake.store.operations.entries()
    facts = {"operation": "rebuild", "by": "somebody", "after_batch": 4, "files": 2, "kept": 1, "kept_rows": 5}
    assert facts.items() <= entry.items()
    assert entry["some_kept"] == ["orders/gone.csv"]
    with dying_in(rebuild, "rebuild-manifest"):
        rebuild_table(lake, ORDERS, by="somebody")
    found = rebuild_table(lake, ORDERS, by="somebody", log=log.append)
    assert (found.again, found.others, found.kept_rows, found.waiting) == (2, 0, 5, 1)
    assert [hint.key for hint in _waiting(lake)] == ["orders/a.csv", "orders/a.csv", "orders/b.csv"]
    assert log[-1] == f"2 of 2 files of {ORDERS} are in the inbox"


def test_a_table_that_waits_for_its_rebuild_only_is_not_behind(lake: Any) -> None:
    rebuild_table(lake, ORDERS, by="somebody")
    (backlog,) = lake.store.inbox.walk_backlogs()
    assert backlog.hints == 2
    assert 1e12 - backlog.oldest < 0, "nobody waits"
    lake.store.inbox.put(
        [Manifest.create(ORDERS, "intake", [Hint("k", Event("m#0", time="2026-01-01T00:00:00+00:00"))])]
    )
    (backlog,) = lake.store.inbox.walk_backlogs()
    assert backlog.oldest < 1e12


def _refusal(lake: Any) -> str:
    with pytest.raises(DataError) as refused:
        rebuild_table(lake, ORDERS, by="somebody")
    assert list(lake.store.operations.entries()) == []
    return str(refused.value)


@pytest.mark.limit(
    "Tables",
    "A rebuild gives columns no other types, which takes a reset, and it is not for registered tables, whose "
    "files are the table.",
)
def test_what_a_rebuild_cannot_do_is_refused_before_anything_is_done(lake: Any) -> None:
    spec = lake.config.tables[0]
    lake.config.table_for = lambda key: spec.model_copy(update={"columns": {"id": "double"}})
    reason = _refusal(lake)
    assert "column id of bronze.orders was born as bigint, lake.yaml says double" in reason
    assert "only a reset gives them other types" in reason
    lake.config.table_for = lambda key: spec.model_copy(update={"columns": {"id": "bigint", "new": "double"}})
    assert isinstance(plan_rebuild(lake, ORDERS), RebuildPlan), "a column that is new has no type yet"
    of, registered = lake.table, Birth("g", "s3a://landing/orders", "orders", registered=True)
    lake.table = lambda table_key: SimpleNamespace(**{**vars(of(table_key)), "birth": registered})
    assert "bronze.orders is registered: its files are the table" in _refusal(lake)
    lake.table = lambda table_key: SimpleNamespace(**{**vars(of(table_key)), "birth": None})
    assert "has no table yet" in _refusal(lake)
