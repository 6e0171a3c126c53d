"""Hints that an earlier version wrote, one of each cause and shape, are read as what they are.

That they are written again byte for byte is a test of all samples (`test_samples.py`).
"""

from __future__ import annotations

from typing import get_args

import pytest

from tests.support.lakes import samples
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
    hint_from_dict,
)
from tidegate.platform.core.bronze.manifest import Manifest

TIME = "2026-01-02T03:04:05+00:00"
HINTS = (
    Hint("orders/a ü.csv", Event("m1#0", "ObjectCreated:Put", TIME, "v1", "00A1"), 7),
    Hint("orders/b.csv", Event("m1#1", "ObjectRemoved:Delete")),
    Hint("orders/c.csv", Event("m2#0", "Unknown"), 0),
    Hint("orders/a.csv", Listed(), 7),
    Hint("orders/b.csv", Missing()),
    Hint("orders/a.csv", Redriven()),
    Hint("orders/b.csv", Redriven(Replacement(3, 5))),
    Hint("orders/a.csv", Rebuild(Replacement(2, 3), TIME), 7),
    Hint("orders/b.csv", Rebuild(Replacement(2, 2)), 0),
    Hint("orders/c.csv", Rebuild(), 9),
    Hint("orders/a.csv", ServerLoss("e1")),
    Hint("orders/a.csv", ServerLoss("e1", alone=True)),
    Hint("orders/a.csv", RemovedByAfterLoad("e1")),
    Hint(
        "lake/rows/clicks/2026-01-02/01HXYZ0000000000000000000A-2-1-2.jsonl",
        RowsSent("2026-01-02T03:04:05.123+00:00"),
        99,
    ),
)


def test_stored_hints_are_read_as_their_causes() -> None:
    manifest = Manifest.from_json(samples.read("manifests", "every_cause"), "s3://x/y")
    assert manifest.hints == HINTS
    assert {type(hint.cause) for hint in HINTS} == set(get_args(HintCause)) - {Covered}, "it is never stored"
    assert tuple(map(hint_from_dict, samples.body("batches", "every_cause_deferred")["deferred"])) == HINTS


def test_hints_of_versions_before_causes_are_understood() -> None:
    assert hint_from_dict({"key": "k"}) == Hint("k", Listed())
    assert hint_from_dict({"key": "k", "event_name": "Listed", "redriven": True}) == Hint("k", Redriven())
    assert hint_from_dict({"key": "k", "event_name": "Redriven", "redriven": True, "decided": 5}).replaces is None


def test_a_hint_of_a_newer_version_is_refused() -> None:
    with pytest.raises(ValueError, match="no member 'why': a newer Tidegate wrote this lake"):
        hint_from_dict({"key": "k", "why": 1})


def test_a_time_that_is_none_counts_as_absent() -> None:
    """The ledger has times, and a batch that is decided must be recorded."""
    for time, read in ((TIME, TIME), ("soon", None), ("2026-13-01", None), (7, None), ("", None)):
        cause = hint_from_dict({"key": "k", "event_id": "m#0", "event_time": time}).cause
        assert isinstance(cause, Event)
        assert cause.time == read
