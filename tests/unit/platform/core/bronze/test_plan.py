"""The decisions of the step look: every answer of S3 with every last state, and the accounting of events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.bronze import plan as plan_module
from tidegate.platform.core.bronze.hint import (
    Event,
    Hint,
    HintCause,
    Listed,
    Redriven,
    RemovedByAfterLoad,
    Replacement,
)
from tidegate.platform.core.bronze.ledger import Cause, LastState, LedgerRow, Status
from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.bronze.plan import (
    Candidate,
    Dataset,
    Plan,
    PlannedHint,
    candidate_hints,
    followers_rows,
    keep_first_bytes,
    leaving_keys,
    make_plan,
)

SAME, OTHER = S3Found("e1", 10, 1, "v1"), S3Found("e2", 20, 2)
STATES: dict[str, LastState | None] = {
    "new": None,
    **{str(status): LastState(status, "e1", 3, "why") for status in Status},
    "overwritten": LastState(Status.QUARANTINED, "e1", 3, "why", cause=Cause.OVERWRITTEN),
    "removed, of old": LastState(Status.REMOVED, None, 3),
}
PROBES: dict[str, Probe] = {
    "same": SAME,
    "other": OTHER,
    "gone": S3Gone(),
    "forbidden": S3Forbidden("403"),
    "unavailable": S3Unavailable("503"),
}


def outcome(plan: Plan) -> str:
    """Return the plan's decision on its only key, as a word."""
    said = []
    said += ["add" for _ in plan.candidates]
    said += [f"drop {was.status}/{was_not.status}" for was, was_not in plan.drop.values()]
    said += [str(row.status) for row in plan.rows]
    said += ["deferred" for _ in plan.deferred]
    return ", ".join(said)


SETTLED_STATES = ("committed", "duplicate", "moved", "preexisting", "complete")
# (state, probe) -> outcome for a registered and for a loaded table.
EXPECTED: dict[tuple[str, str], tuple[str, str]] = {}
for state in STATES:
    EXPECTED[state, "unavailable"] = ("deferred", "deferred")
    EXPECTED[state, "forbidden"] = ("quarantined", "quarantined")
    if state in ("new", "removed", "removed, of old", "unapplied", "waiting"):
        EXPECTED[state, "same"] = EXPECTED[state, "other"] = ("add", "add")
        if state == "removed":
            EXPECTED[state, "same"] = ("add", "duplicate")
        EXPECTED[state, "gone"] = ("removed", "removed") if state in ("new", "waiting") else ("duplicate", "duplicate")
    elif state in SETTLED_STATES:
        EXPECTED[state, "same"] = ("duplicate", "duplicate")
        EXPECTED[state, "other"] = ("drop quarantined/quarantined", "add")
        EXPECTED[state, "gone"] = ("drop removed/unapplied", "duplicate" if state == "moved" else "removed")
    else:
        EXPECTED[state, "same"] = ("quarantined", "quarantined")
        EXPECTED[state, "other"] = ("quarantined", "add") if state == "overwritten" else ("add", "add")
        EXPECTED[state, "gone"] = ("removed", "removed")


def test_the_table_below_is_complete() -> None:
    assert set(EXPECTED) == {(state, probe) for state in STATES for probe in PROBES}


@pytest.mark.parametrize("registered", [True, False], ids=["registered", "loaded"])
@pytest.mark.parametrize(("state", "probe"), sorted(EXPECTED))
def test_every_state_against_every_answer(state: str, probe: str, registered: bool) -> None:
    known = STATES[state]
    taken = [PlannedHint(Hint("k", Event("m#0")), "manifest")]
    plan = make_plan(taken, {"k": PROBES[probe]}, {"k": known} if known else {}, registered=registered)
    assert outcome(plan) == EXPECTED[state, probe][0 if registered else 1]
    for row in [*plan.rows, *(row for pair in plan.drop.values() for row in pair)]:
        assert (row.key, row.event_id, row.manifest) == ("k", "m#0", "manifest")


@pytest.mark.parametrize("registered", [True, False], ids=["registered", "loaded"])
@pytest.mark.parametrize("state", ["quarantined", "overwritten"])
def test_a_redriven_hint_decides_a_quarantined_key_again(state: str, registered: bool) -> None:
    taken = [PlannedHint(Hint("k", Redriven()), "m")]
    plan = make_plan(
        taken, {"k": SAME}, {"k": STATES[state] or LastState(Status.REMOVED, None, 0)}, registered=registered
    )
    assert outcome(plan) == "add"


def test_a_redriven_hint_does_not_add_a_committed_key_again() -> None:
    taken = [PlannedHint(Hint("k", Redriven()), "m"), PlannedHint(Hint("k", Event("m#0")), "m")]
    plan = make_plan(taken, {"k": SAME}, {"k": LastState(Status.COMMITTED, "e1", 1)}, registered=False)
    assert outcome(plan) == "duplicate"


def test_a_quarantined_key_keeps_its_reason_cause_and_folder() -> None:
    taken = [PlannedHint(Hint("k", Event("m#0")), "m")]
    state = LastState(Status.QUARANTINED, "e1", 3, "why", cause=Cause.OVERWRITTEN, bad_rows_folder="s3a://b/f")
    (row,) = make_plan(taken, {"k": SAME}, {"k": state}, registered=True).rows
    assert (row.reason, row.cause, row.bad_rows_folder) == ("why", Cause.OVERWRITTEN, "s3a://b/f")


def test_an_overwritten_key_stays_in_quarantine_by_its_cause_whatever_its_reason_says() -> None:
    taken = [PlannedHint(Hint("k", Event("m#0")), "m")]
    plan = make_plan(taken, {"k": OTHER}, {"k": LastState(Status.COMMITTED, "e1", 3)}, registered=True)
    rows = plan.drop["k"]
    assert [row.cause for row in rows] == [Cause.OVERWRITTEN] * 2
    said = LastState(Status.QUARANTINED, "e1", 3, "overwritten: or so it says")
    assert outcome(make_plan(taken, {"k": OTHER}, {"k": said}, registered=True)) == "add"


@pytest.mark.parametrize(
    ("hints", "known", "expected"),
    [
        ([Hint("k", Event("m#0"), event_type="a")], "b", "a"),
        ([Hint("k", Event("m#0"))], "b", None),
        ([Hint("k", Event("m#0"), event_type="a"), Hint("k", Redriven())], "b", "a"),
        ([Hint("k", Event("m#0")), Hint("k")], "b", None),
        ([Hint("k")], "b", "b"),
        ([Hint("k", Redriven())], None, "of k"),
        ([Hint("k", RemovedByAfterLoad("e1"))], "b", "b"),
    ],
)
@pytest.mark.parametrize("probe", ["other", "gone"])
def test_a_decision_has_the_type_of_its_event_or_else_the_one_that_is_known(
    probe: str, hints: list[Hint], known: str | None, expected: str | None
) -> None:
    plan = make_plan(
        [PlannedHint(hint, "m") for hint in hints],
        {"k": PROBES[probe]},
        {"k": LastState(Status.COMMITTED, "e1", 3, event_type=known)},
        registered=False,
        type_of_key=lambda key: f"of {key}",
    )
    rows = [candidate.row(Status.COMMITTED) for candidate in plan.candidates] + plan.rows
    assert rows[-1].event_type == expected
    assert all(row.event_type == hints[0].event_type for row in rows[:-1])


def test_a_listing_s_hint_of_a_settled_key_leaves_no_row() -> None:
    """Otherwise every materialization by hand would write a row for every key."""
    plan = make_plan(
        [PlannedHint(Hint("k"), "m")], {"k": SAME}, {"k": LastState(Status.COMMITTED, "e1", 1)}, registered=True
    )
    assert outcome(plan) == ""


def test_the_newest_hint_leads_and_the_others_follow_in_order() -> None:
    hints = [Hint("k", Event(f"m#{i}")) for i in range(3)]
    plan = make_plan([PlannedHint(hint, "m") for hint in hints], {"k": SAME}, {}, registered=True)
    (candidate,) = plan.candidates
    assert candidate.taken.hint == hints[2]
    assert candidate_hints(plan, candidate) == hints
    rows = followers_rows(plan, "k", candidate.found)
    assert [(row.event_id, row.status) for row in rows] == [("m#0", Status.DUPLICATE), ("m#1", Status.DUPLICATE)]


def test_keys_keep_the_order_of_their_first_hints() -> None:
    hints = [PlannedHint(Hint(key), "m") for key in ("b", "a", "b", "c")]
    plan = make_plan(hints, dict.fromkeys("abc", SAME), {}, registered=False)
    assert [candidate.key for candidate in plan.candidates] == ["b", "a", "c"]


def test_a_row_takes_the_object_s_version_before_the_event_s() -> None:
    hint = PlannedHint(Hint("k", Event("m#0", version_id="of the event")), "m")
    (candidate,) = make_plan([hint], {"k": SAME}, {}, registered=False).candidates
    row = candidate.row(Status.COMMITTED, rows=4, bad_rows=1)
    assert (row.version_id, row.etag, row.size, row.rows, row.bad_rows) == ("v1", "e1", 10, 4, 1)
    (gone,) = make_plan([hint], {"k": S3Gone()}, {}, registered=False).rows
    assert (gone.version_id, gone.etag, gone.size) == ("of the event", None, None)
    (candidate,) = make_plan([hint], {"k": S3Found("e1", 10, 5)}, {}, registered=False).candidates
    assert candidate.row(Status.COMMITTED).version_id == "of the event", "S3's answer names no version"


@pytest.mark.parametrize("has_event", [True, False], ids=["S3 sent an event", "no event"])
@pytest.mark.parametrize(
    ("state", "probe", "expected"),
    [
        (LastState(Status.COMMITTED, "e1", 3), S3Gone(), "moved"),
        (LastState(Status.COMMITTED, "e2", 4), S3Gone(), "removed"),
        (LastState(Status.REMOVED, None, 4), S3Gone(), "moved"),
        (LastState(Status.REMOVED, "e1", 4), S3Gone(), "moved"),
        (LastState(Status.REMOVED, "e2", 4), S3Gone(), "duplicate"),
        (LastState(Status.COMMITTED, "e1", 3), OTHER, "add"),
    ],
    ids=[
        "as it was loaded",
        "other bytes were loaded since",
        "a run of old saw it go",
        "a run beside ours saw it go",
        "others went since",
        "written again",
    ],
)
def test_a_file_that_after_load_removed_is_moved_and_not_removed(
    state: LastState, probe: Probe, expected: str, has_event: bool
) -> None:
    events = [PlannedHint(Hint("k", Event("m#0", "ObjectRemoved:Delete")), "m")] if has_event else []
    ours = PlannedHint(Hint("k", RemovedByAfterLoad("e1")), "m")
    plan = make_plan([*events, ours], {"k": probe}, {"k": state}, registered=False)
    assert outcome(plan) == ("" if expected == "duplicate" and not has_event else expected)
    for row in plan.rows:
        assert row.event_id == ("m#0" if has_event else None), "an event has its own row"
        stay = {"moved": "e1", "removed": state.etag}.get(str(row.status))
        assert row.etag == stay, "the same bytes again are not a new file"


def test_the_same_bytes_again_after_they_were_moved_are_a_duplicate() -> None:
    moved = {"k": LastState(Status.MOVED, "e1", 4)}
    taken = [PlannedHint(Hint("k", Event("m#0")), "m")]
    assert outcome(make_plan(taken, {"k": SAME}, moved, registered=False)) == "duplicate"
    assert outcome(make_plan(taken, {"k": OTHER}, moved, registered=False)) == "add"


CHECKSUM = "CRC64NVME:nuCUKjhVRg8="


@pytest.mark.parametrize("registered", [True, False], ids=["registered", "loaded"])
@pytest.mark.parametrize("status", [Status.COMMITTED, Status.MOVED, Status.REMOVED, Status.QUARANTINED])
@pytest.mark.parametrize(
    ("probe", "same"),
    [
        (S3Found("e9", 10, 9, checksum=CHECKSUM), True),
        (S3Found("e1", 10, 9), True),
        (S3Found("e9", 11, 9, checksum=CHECKSUM), False),
        (S3Found("e9", 10, 9, checksum="CRC64NVME:AAAAAAAAAAA="), False),
        (S3Found("e9", 10, 9, checksum="CRC32:nuCUKg==-2"), False),
        (S3Found("e9", 10, 9), False),
    ],
    ids=["a copy", "without a checksum now", "other size", "other checksum", "of parts", "no checksum"],
)
def test_bytes_are_the_same_by_their_checksum_where_a_copy_has_another_etag(
    status: Status, probe: S3Found, same: bool, registered: bool
) -> None:
    """Etags differ so where KMS encrypts the bucket, or after a multipart upload."""
    state = LastState(status, "e1", 3, "why", size=10, checksum=CHECKSUM)
    taken = [PlannedHint(Hint("k", Event("m#0")), "m")]
    found = outcome(make_plan(taken, {"k": probe}, {"k": state}, registered=registered))
    by_etag = EXPECTED[str(status), "same" if same else "other"]
    assert found == by_etag[0 if registered else 1]


def test_without_a_checksum_the_etag_shows_whether_the_bytes_differ() -> None:
    unknown = {"k": LastState(Status.COMMITTED, "e1", 3)}
    probe = S3Found("e9", 10, 9, checksum=CHECKSUM)
    assert (
        outcome(make_plan([PlannedHint(Hint("k", Event("m#0")), "m")], {"k": probe}, unknown, registered=False))
        == "add"
    )


@pytest.mark.parametrize("ours", [True, False], ids=["by us", "by its producer"])
def test_the_row_of_a_removal_names_the_bytes_whose_rows_stay(ours: bool) -> None:
    state = LastState(Status.COMMITTED, "e1", 3, size=10, bad_rows=2, checksum=CHECKSUM)
    hint = PlannedHint(Hint("k", RemovedByAfterLoad("e1") if ours else Event("m#0")), "m")
    (row,) = make_plan([hint], {"k": S3Gone()}, {"k": state}, registered=False).rows
    assert row.status == (Status.MOVED if ours else Status.REMOVED)
    assert (row.etag, row.size, row.bad_rows, row.checksum) == ("e1", 10, 2, CHECKSUM)
    event = PlannedHint(Hint("k", Event("m#0")), "m")
    ((was, was_not),) = make_plan([event], {"k": S3Gone()}, {"k": state}, registered=True).drop.values()
    assert (was.etag, was_not.etag) == (None, None), "these rows leave with the file"


def _cause(number: int, event: bool, redriven: bool, etag: str | None) -> HintCause:
    if event:
        return Event(f"e{number}")
    if redriven:
        return Redriven(Replacement(2, 3))
    return RemovedByAfterLoad(etag) if etag else Listed()


KEYS = st.sampled_from("abcd")
ITEMS = st.lists(
    st.builds(
        lambda *drawn: drawn,
        KEYS,
        st.booleans(),
        st.booleans(),
        st.sampled_from(["m1", "m2"]),
        st.sampled_from([None, "e1"]),
    ),
    max_size=12,
)


@given(
    ITEMS,
    st.fixed_dictionaries({key: st.sampled_from(list(PROBES.values())) for key in "abcd"}),
    st.dictionaries(KEYS, st.sampled_from([state for state in STATES.values() if state])),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_every_event_ends_as_one_row_or_is_deferred(
    items: list[tuple[str, bool, bool, str, str | None]],
    probes: dict[str, Probe],
    states: dict[str, LastState],
    registered: bool,
    were_live: bool,
    put_off: bool,
) -> None:
    """Invariant 6 holds for each outcome of the candidates and of the entries to drop."""
    taken = [
        PlannedHint(
            Hint(key, _cause(i, event, redriven, None if registered else etag)),
            manifest,
        )
        for i, (key, event, redriven, manifest, etag) in enumerate(items)
    ]
    plan = make_plan(taken, probes, states, registered=registered)
    rows: list[LedgerRow] = [*plan.rows, *(pair[0 if were_live else 1] for pair in plan.drop.values())]
    deferred = list(plan.deferred)
    for candidate in plan.candidates:
        if put_off:
            deferred += candidate_hints(plan, candidate)
        else:
            rows += [*followers_rows(plan, candidate.key, candidate.found), candidate.row(Status.COMMITTED, rows=1)]
    ended = [row.event_id for row in rows if row.event_id] + [hint.event_id for hint in deferred if hint.event_id]
    assert sorted(ended) == sorted(item.hint.event_id for item in taken if item.hint.event_id)
    assert {candidate.key for candidate in plan.candidates}.isdisjoint(plan.drop)
    assert all(isinstance(probes[hint.key], S3Unavailable) for hint in plan.deferred)


PARTLY = LastState(Status.COMMITTED, "e1", 3, "1 of its 2 rows", bad_rows=1)


@pytest.mark.parametrize(
    ("state", "probe", "redriven", "registered", "replaces"),
    [
        (PARTLY, SAME, True, False, [3]),
        (PARTLY, SAME, False, False, []),
        (LastState(Status.COMMITTED, "e1", 3), SAME, True, False, []),
        (PARTLY, SAME, True, True, []),
        (PARTLY, OTHER, True, False, [None]),
        (LastState(Status.QUARANTINED, "e1", 3, "none", bad_rows=2), SAME, True, False, [None]),
        (LastState(Status.REMOVED, None, 3), SAME, True, False, [None]),
    ],
    ids=["partly", "by an event", "wholly in", "registered", "other bytes", "quarantined", "removed"],
)
def test_a_redriven_hint_replaces_the_rows_of_the_batch_that_quarantined_some(
    state: LastState, probe: Probe, redriven: bool, registered: bool, replaces: list[int | None]
) -> None:
    cause = Redriven() if redriven else Listed()
    taken = [PlannedHint(Hint("k", cause), "m"), PlannedHint(Hint("k", Event("e#0")), "m")]
    plan = make_plan(taken, {"k": probe}, {"k": state}, registered=registered)
    assert [candidate.replaces for candidate in plan.candidates] == replaces


def sized(key: str, size: int) -> Candidate:
    return Candidate(key, S3Found("etag", size, 0), PlannedHint(Hint(key), "manifest"))


def test_a_batch_loads_so_many_bytes_and_puts_the_rest_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "BATCH_BYTES", 100)
    plan = Plan([sized("a", 60), sized("b", 30), sized("c", 20), sized("d", 5)])
    keep_first_bytes(plan)
    assert [candidate.key for candidate in plan.candidates] == ["a", "b"]
    assert [hint.key for hint in plan.deferred] == ["c", "d"]
    plan = Plan([sized("large", 1000), sized("next", 1)])
    keep_first_bytes(plan)
    assert [candidate.key for candidate in plan.candidates] == ["large"]


def test_a_dataset_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of no dataset, such as those of a rebuild, are put off to leave room for it."""
    monkeypatch.setattr(plan_module, "BATCH_BYTES", 100)
    signal = sized("_SUCCESS", 0)
    datasets = [Dataset(signal.taken, (), signal.found, frozenset("ab"), 2)]
    plan = Plan([sized("a", 60), sized("b", 60), sized("other", 60)], datasets=datasets)
    keep_first_bytes(plan)
    assert [candidate.key for candidate in plan.candidates] == ["a", "b"]
    assert [hint.key for hint in plan.deferred] == ["other"]


@pytest.mark.parametrize("probe", [S3Gone(), OTHER])
def test_what_had_left_an_adopted_table_does_not_leave_it_again(probe: Probe) -> None:
    states = {
        "live": LastState(Status.PREEXISTING, "e1", 1),
        "left": LastState(Status.PREEXISTING, "e1", 1, cause=Cause.LEFT),
    }
    plan = make_plan(
        [PlannedHint(Hint(key), "m") for key in states], dict.fromkeys(states, probe), states, registered=True
    )
    assert set(plan.drop) == {"live", "left"}
    assert leaving_keys(plan, states) == {"live"}
