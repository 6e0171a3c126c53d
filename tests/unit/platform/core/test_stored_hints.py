"""Manifests and a batch that an earlier version wrote: each is read, and written again byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.hint import (
    Event,
    Hint,
    HintCause,
    Listed,
    Missing,
    Rebuild,
    Redriven,
    Replacement,
    RowsSent,
    ServerLoss,
    TakenAway,
)
from tidegate.platform.core.bronze.hint_json import hint_from_dict
from tidegate.platform.core.bronze.manifest import Manifest

STORED = Path(__file__).parents[2] / "data" / "formats"
MANIFESTS = (STORED / "manifests.jsonl").read_text(encoding="utf-8").splitlines()
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
    Hint("orders/a.csv", TakenAway("e1")),
    Hint(
        "lake/rows/clicks/2026-01-02/01HXYZ0000000000000000000A-2-1-2.jsonl",
        RowsSent("2026-01-02T03:04:05.123+00:00"),
        99,
    ),
)


@pytest.mark.parametrize("text", MANIFESTS)
def test_a_stored_manifest_is_written_again_as_it_was(text: str) -> None:
    assert Manifest.from_json(text, "s3://x/y").to_json() == text


def test_the_stored_manifests_have_every_cause() -> None:
    *single, deferred = (Manifest.from_json(text, "s3://x/y") for text in MANIFESTS)
    assert tuple(hint for manifest in single for hint in manifest.hints) == HINTS == deferred.hints
    assert {type(hint.cause) for hint in HINTS} == set(get_args(HintCause))


def test_a_stored_batch_is_written_again_as_it_was() -> None:
    text = (STORED / "batch-with-deferred-hints.json").read_text(encoding="utf-8").rstrip("\n")
    batch = Batch.from_json(text, "s3://x/y")
    assert batch.deferred == HINTS
    assert batch.to_json() == text
    # The first versions wrote a hint without the members that came later.
    early = [{name: value for name, value in hint.items() if value} for hint in json.loads(text)["deferred"]]
    assert tuple(map(hint_from_dict, early))[:2] == HINTS[:2]


def test_hints_of_versions_before_causes_are_understood() -> None:
    assert hint_from_dict({"key": "k"}) == Hint("k", Listed())
    assert hint_from_dict({"key": "k", "event_name": "Listed", "redriven": True}) == Hint("k", Redriven())
    assert hint_from_dict({"key": "k", "event_name": "Redriven", "redriven": True, "decided": 5}).replaces is None


def test_a_hint_of_a_newer_version_is_refused() -> None:
    with pytest.raises(ValueError, match="no member 'why': a newer Tidegate wrote this lake"):
        hint_from_dict({"key": "k", "why": 1})
