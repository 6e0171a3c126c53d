"""What was forwarded, quarantined and left waiting is compared with the oracle event by event, not only by counts."""

from __future__ import annotations

import gzip
from copy import deepcopy
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import pytest

from tidegate.platform.demo.accounts import Accounts
from tidegate.platform.demo.events.findings import (
    compare_broken,
    compare_datasets,
    compare_events,
    compare_forwarded,
    describe_poison,
    read_folders,
)
from tidegate.platform.demo.events.report import EventsReport
from tidegate.platform.demo.events.subscribers import Subscriber

EXPECTED: dict[str, Any] = {
    "events_sent": 8,
    "outcomes": {"committed": 3, "duplicate": 1, "quarantined": 1, "malformed": 1},
    "types": {"orders.created": 1, "payments.created": 1, "invoices.created": 2},
    "datasets": {"events": 2, "waiting": ["w1"]},
    "quarantined": {"objects": {"i2": "poison"}, "rows": {"i1": 1}},
    "forwarded": {
        "orders.created": {"messages": 2, "keys": ["gone", "o1"], "existing": ["o1"]},
        "payments.created": {"messages": 1, "keys": ["p1"], "existing": ["p1"]},
        "invoices.created": {"messages": 2, "keys": ["i1", "i2"], "existing": ["i1", "i2"]},
    },
}


def subscriber(**messages: list[str]) -> Subscriber:
    """Return a subscriber that received messages, given as the keys of each by service."""
    found = Subscriber(None, "")
    for service, keys in messages.items():
        found.messages[f"{service}.created"] = len(keys)
        found.keys[f"{service}.created"] = set(keys)
    return found


@pytest.fixture
def tagged() -> Subscriber:
    return subscriber(payments=["p1"])


@pytest.fixture
def unmatched() -> Subscriber:
    return subscriber(orders=["o1", "gone"], invoices=["i1", "i2"])


def problems(tagged: Subscriber, unmatched: Subscriber, processed: dict[str, set[str]]) -> list[str]:
    report = EventsReport()
    compare_forwarded(report, EXPECTED, processed, tagged, unmatched)
    return report.problems


def test_what_every_subscriber_must_have_is_right(tagged: Subscriber, unmatched: Subscriber) -> None:
    """A message that comes twice is right: routes deliver at least once."""
    assert problems(tagged, unmatched, {"orders.created": {"o1"}}) == []
    tagged.messages["payments.created"] = 2
    assert problems(tagged, unmatched, {"orders.created": {"o1"}}) == []


def test_an_event_that_a_subscriber_lacks_or_must_not_have_is_a_problem(
    tagged: Subscriber, unmatched: Subscriber
) -> None:
    assert any("d your own" in problem for problem in problems(tagged, unmatched, {}))
    lacking = deepcopy_of(unmatched)
    lacking.keys["invoices.created"] = {"i1"}
    assert any("events-without-a-queue" in problem for problem in problems(tagged, lacking, {"orders.created": {"o1"}}))
    redelivered = deepcopy_of(unmatched)
    redelivered.messages["orders.created"] = 1  # the second delivery never came
    (problem,) = problems(tagged, redelivered, {"orders.created": {"o1"}})
    assert problem == "messages that events-without-a-queue lacks: orders.created: 2, must be none"
    tagged.keys["orders.created"] = {"o1"}
    assert any("orders.created" in problem for problem in problems(tagged, unmatched, {"orders.created": {"o1"}}))


def deepcopy_of(found: Subscriber) -> Subscriber:
    copy = Subscriber(None, "")
    copy.messages, copy.keys = deepcopy(found.messages), deepcopy(found.keys)
    return copy


def test_each_event_and_each_quarantined_object_counts() -> None:
    accounts = Accounts(
        outcomes={"1": "committed", "2": "committed", "3": "committed", "4": "duplicate", "5": "quarantined"},
        quarantined={"i2": "its line 1 is not JSON"},
    )
    accounts.outcomes |= {"6": "malformed", "7": "waiting", "8": "duplicate"}
    accounts.events["tidegate-landing.exports.settlements"] = {"7", "8"}  # no outcome of these two is wrong
    accounts.waiting = {"w1"}
    accounts.bad_rows["i1"] = 1
    report = EventsReport()
    compare_events(report, EXPECTED, accounts)
    compare_datasets(report, EXPECTED, accounts)
    describe_poison(report, EXPECTED)
    assert report.ok
    assert [broken.what.split()[0] for broken in report.broken] == ["the", "1", "1", "1"]
    accounts.outcomes["4"] = "committed"  # the total is still right
    compare_events(report, EXPECTED, accounts)
    assert report.problems == [
        "outcomes of events: committed: 4, must be 3; duplicate: none, must be 1",
    ]


def test_the_backlog_of_the_broken_subscriber_has_all_of_its_messages() -> None:
    report = EventsReport()
    compare_broken(report, EXPECTED, (2, 61.4))
    assert report.ok
    assert "the oldest for 61 s" in report.broken[0].now
    compare_broken(report, EXPECTED, (1, 61.4))
    assert report.problems == ["broken subscriber, outbox/reports/: 1 messages that wait, must be 2"]


def test_a_repartitioned_line_that_changed_or_is_missing_is_seen() -> None:
    class Objects:
        def __init__(self, **bodies: bytes) -> None:
            self.bodies = {key.replace("__", "/"): body for key, body in bodies.items()}

        def list_under(self, bucket: str, prefix: str) -> list[SimpleNamespace]:
            return [SimpleNamespace(key=key) for key in self.bodies]

        def get(self, bucket: str, key: str) -> bytes:
            return self.bodies[key]

    def folders(**bodies: bytes) -> dict[str, dict[str, int]]:
        objects: Any = Objects(**{name: gzip.compress(body) for name, body in bodies.items()})
        found, number = read_folders(objects, "out")
        assert number == len(bodies)
        return found

    right = folders(eu__1=b"a\nb\n", us__2=b"c\n")
    assert right == {"eu": {"rows": 2, "lines": crc32(b"a") + crc32(b"b")}, "us": {"rows": 1, "lines": crc32(b"c")}}
    assert folders(eu__1=b"b\n", eu__3=b"a\n", us__2=b"c\n") == right, "order and number of objects do not matter"
    assert folders(eu__1=b"a\nB\n", us__2=b"c\n") != right
    assert folders(eu__1=b"a\nb\nc\n") != right
