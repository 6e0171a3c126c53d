"""Events without a table, and their rows in the intake log."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects as InMemory
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.routing.unrouted_events import ROW_FIELDS, Detail, Unrouted
from tidegate.platform.lake.lake_root.store import LakeStore

#: A log object as version 1.0 wrote it, byte for byte.
WRITTEN = (
    '{"format": 1, "counters": {"own_file": 2, "no_table": 1, "malformed": 1}, "rows": ['
    '{"event_id": "m1#0", "outcome": "own_file", "reason": "hidden", "bucket": "landing", "key": "orders/_x", '
    '"queue": "events"}, '
    '{"event_id": "m2#1", "outcome": "no_table", "reason": "in no folder", "bucket": "landing", "key": "ü.csv", '
    '"queue": "events"}, '
    '{"event_id": "m3#0", "outcome": "malformed", "reason": "the body is not JSON", '
    '"detail": "s3://lake/root/quarantine/messages/m3-0.json", "queue": "events"}]}'
)
EVENTS = (
    Unrouted("m1#0", "own_file", "events", S3Address("landing", "orders/_x"), "hidden"),
    Unrouted("m2#1", "no_table", "events", S3Address("landing", "ü.csv"), "in no folder"),
    Unrouted(
        "m3#0", "malformed", "events", Detail("s3://lake/root/quarantine/messages/m3-0.json"), "the body is not JSON"
    ),
)


def test_the_log_reads_what_earlier_versions_wrote() -> None:
    store = LakeStore(InMemory(), "s3://lake/root")  # type: ignore[arg-type]
    store.objects.put("lake", "root/intake/2026-01-02/01.json", WRITTEN)
    (entry,) = store.intake_log.entries("2026-01-02")
    assert entry.counters == {"own_file": 2, "no_table": 1, "malformed": 1}
    assert entry.unrouted == EVENTS


def test_the_log_writes_the_bytes_that_earlier_versions_wrote() -> None:
    store = LakeStore(InMemory(), "s3://lake/root")  # type: ignore[arg-type]
    store.intake_log.put({"own_file": 2, "no_table": 1, "malformed": 1}, EVENTS)
    (item,) = store.objects.list_under("lake", "root/intake/")
    written = store.objects.get("lake", item.key)
    assert (written.decode() if isinstance(written, bytes) else written) == WRITTEN


def test_a_row_has_no_other_members_than_the_view_has_columns() -> None:
    events = [*EVENTS, replace(EVENTS[1], event_type="orders")]
    assert {name for event in events for name in event.to_row()} == set(ROW_FIELDS)
    assert all(Unrouted.from_row(json.loads(json.dumps(event.to_row()))) == event for event in events)


@pytest.mark.parametrize(
    ("row", "event"),
    [
        ({"outcome": "no_table"}, Unrouted("", "no_table", "", Detail(""), "")),
        ({"outcome": "no_table", "key": "x"}, Unrouted("", "no_table", "", S3Address("", "x"), "")),
        ({"outcome": "malformed", "key": None, "detail": "d"}, Unrouted("", "malformed", "", Detail("d"), "")),
    ],
)
def test_a_row_may_lack_every_member_but_its_outcome(row: dict[str, Any], event: Unrouted) -> None:
    assert Unrouted.from_row(row) == event


def test_own_files_do_not_fail_a_check_and_the_others_do() -> None:
    assert [(event.is_miss, event.key, str(event.subject)) for event in EVENTS] == [
        (False, "orders/_x", "s3://landing/orders/_x"),
        (True, "ü.csv", "s3://landing/ü.csv"),
        (True, "", "s3://lake/root/quarantine/messages/m3-0.json"),
    ]
