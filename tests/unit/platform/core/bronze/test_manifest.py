"""Manifests: the format of the inbox's objects, and ids that contain their counts."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.bronze.hint import (
    Covered,
    Event,
    Hint,
    HintCause,
    Listed,
    Missing,
    Rebuild,
    Redriven,
    RemovedByAfterLoad,
    Replacement,
    RowsSent,
    ServerLoss,
)
from tidegate.platform.core.bronze.manifest import Manifest, Tally, split_into_manifests, tally_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TIMES = st.none() | st.just("2024-05-01T10:00:00+00:00")
ETAGS = TEXT.filter(bool)
REPLACEMENTS = st.none() | st.builds(Replacement, st.integers(1, 10**6), st.integers(1, 10**6))
CAUSES = st.one_of(
    st.builds(Event, ETAGS, ETAGS, TIMES, st.none() | ETAGS, st.none() | ETAGS),
    st.builds(RowsSent, TIMES),
    st.just(Listed()),
    st.just(Missing()),
    st.builds(Redriven, REPLACEMENTS),
    st.builds(Rebuild, REPLACEMENTS, TIMES),
    st.builds(RemovedByAfterLoad, ETAGS),
    st.builds(ServerLoss, ETAGS, st.booleans(), st.booleans()),
)
HINTS = st.lists(st.builds(Hint, TEXT.filter(bool), CAUSES, st.none() | st.integers(0, 2**63 - 1)), max_size=6)


def test_every_cause_is_tried() -> None:
    tried = {Event, RowsSent, Listed, Missing, Redriven, Rebuild, RemovedByAfterLoad, ServerLoss}
    assert set(get_args(HintCause)) - {Covered} == tried, "a hint of a covered part is never in the inbox"


@given(HINTS)
def test_a_manifest_is_read_back_as_it_was_written(hints: list[Hint]) -> None:
    written = Manifest.create("landing.orders", "intake", hints)
    assert Manifest.from_json(written.to_json(), "s3://x/y") == written
    assert tally_of(written.id).hints == len(hints)
    assert len(written.id) < 100, "whatever the events said"


def test_the_format_is_for_ever() -> None:
    hints = (
        Hint("a/ü b.csv", Event("m1#0", "ObjectCreated:Put", "2024-05-01T10:00:00+00:00", "v1", "00A1")),
        Hint("a/c.csv", Redriven()),
    )
    assert Manifest("landing.a", "01HXYZ0000000000000000000A-2", "intake", hints).to_json() == (
        '{"format":1,"table":"landing.a","id":"01HXYZ0000000000000000000A-2","origin":"intake","hints":['
        '{"key":"a/ü b.csv","event_id":"m1#0","event_name":"ObjectCreated:Put",'
        '"event_time":"2024-05-01T10:00:00+00:00","version_id":"v1","sequencer":"00A1"},'
        '{"key":"a/c.csv","event_name":"Redriven","redriven":true}]}'
    )


def test_ids_follow_time() -> None:
    # A ULID's clock counts milliseconds. Within one millisecond, ids have no order.
    ids = [
        Manifest("t", f"{stamp}-1", "intake", ()).id
        for stamp in ("01HXYZ0000000000000000000A", "01HXYZ0001000000000000000A")
    ]
    assert ids == sorted(ids)
    assert Manifest.create("t", "intake", []).id[:26] > "01HXYZ0000000000000000000A"


def test_a_deferred_manifest_has_the_same_id_however_often_it_is_written() -> None:
    hints = [Hint("a"), Hint("b")]
    first, again = (
        Manifest.from_deferred("t", 7, "0123456789ab", hints),
        Manifest.from_deferred("t", 7, "0123456789ab", hints),
    )
    assert first == again
    assert first.id == "deferred-00000000000000000007-01234567-2-0-0"
    assert tally_of(first.id) == Tally(2)


def test_an_id_has_the_bytes_and_the_oldest_event() -> None:
    hints = [
        Hint("a", Event("m#0", time="2024-05-01T12:00:00+02:00"), 7),
        Hint("b", Event("m#0", time="2024-05-01T09:59:59.9+00:00")),
        Hint("c", size=5),
    ]
    for made in (Manifest.create("t", "intake", hints), Manifest.from_deferred("t", 1, "0123456789ab", hints)):
        assert made.id.endswith("-3-12-1714557599")
        assert tally_of(made.id) == Tally(3, 12, 1714557599)


@pytest.mark.parametrize(
    "stem",
    ["01HXYZ0000000000000000000A-3", "deferred-00000000000000000007-3", "deferred-00000000000000000007-01234567-3"],
)
def test_an_id_of_an_older_lake_has_the_number_of_hints(stem: str) -> None:
    assert tally_of(stem) == Tally(3)


@pytest.mark.parametrize(
    "stem",
    [
        "",
        "x",
        "01HXYZ0000000000000000000A",
        "01HXYZ0000000000000000000A-",
        "01HXYZ-3",
        "deferred-7-2",
        "notes-1",
        "01HXYZ0000000000000000000A-3-4",
        "01HXYZ0000000000000000000A-3-4-",
        "01HXYZ0000000000000000000A-٣",
    ],
)
def test_other_names_are_not_manifests(stem: str) -> None:
    with pytest.raises(ValueError, match="not the id of a manifest"):
        tally_of(stem)


@given(st.integers(1, 7), st.integers(0, 25))
def test_no_manifest_exceeds_the_cap_and_none_is_empty(cap: int, number: int) -> None:
    hints = [Hint(str(i)) for i in range(number)]
    made = list(split_into_manifests("t", "intake", hints, cap))
    assert [hint for manifest in made for hint in manifest.hints] == hints
    assert all(0 < len(manifest.hints) <= cap for manifest in made)
    assert len({manifest.id for manifest in made}) == len(made) == -(-number // cap)


def test_a_manifest_holds_so_many_bytes_of_objects_or_one_object() -> None:
    hints = [Hint(str(i), size=size) for i, size in enumerate([3, 3, 3, 20, 1, 0, 0, 0])]
    made = [
        [hint.size for hint in manifest.hints]
        for manifest in split_into_manifests("t", "rebuild", hints, 3, max_bytes=7)
    ]
    assert made == [[3, 3], [3], [20], [1, 0, 0], [0]]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"format":2,"table":"t","id":"x-0","origin":"intake","hints":[]}',
        '{"format":1,"table":"t","id":"x-0","origin":"intake"}',
        '{"format":1,"table":"t","id":"x-0","origin":"intake","hints":[{"kee":"a"}]}',
        '{"format":1,"table":"t","id":"x-0","origin":"intake","hints":["key"]}',
        '{"format":1,"table":"t","id":"x-0","origin":"intake","hints":[null]}',
        '{"format":1,"table":"t","id":"x-0","origin":"after","hints":[{"key":"a","event_name":"AfterLoad"}]}',
    ],
)
def test_anything_else_is_an_error_that_names_the_object(body: str) -> None:
    with pytest.raises(ValueError, match=r"^s3://lake/inbox/x(: | is not a manifest \()"):
        Manifest.from_json(body, "s3://lake/inbox/x")


def test_a_newer_format_says_so() -> None:
    body = json.dumps({"format": 2, "table": "t", "id": "x-0", "origin": "intake", "hints": []})
    with pytest.raises(ValueError, match="newer Tidegate"):
        Manifest.from_json(body, "here")
