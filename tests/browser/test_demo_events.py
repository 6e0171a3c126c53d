"""The demo of events as a new user sees it, with few types and objects. `make demo-events` has all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.support.plugins.processes import born
from tests.support.servers.demo_process import DemoProcess

pytestmark = pytest.mark.timeout(900)

#: A type of each contract and of each subscriber. Each other service would be one more table of a kind that is there.
TYPES, OBJECTS = 5, 350
_SETTLED = 600.0


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoProcess]:
    """Yield a demo that is kept running."""
    home = tmp_path_factory.mktemp("demo") / "home"
    options = ("--types", str(TYPES), "--objects", str(OBJECTS), "--keep")
    with DemoProcess(home, *options, demo="events") as running:
        running.report(_SETTLED)
        yield running


@pytest.fixture(scope="module")
def report(demo: DemoProcess) -> dict[str, Any]:
    return demo.report(1)


def test_every_output_of_the_events_is_what_the_oracle_computed(demo: DemoProcess, report: dict[str, Any]) -> None:
    assert report["problems"] == []
    assert report["ok"] is True
    assert report["events_sent"] > OBJECTS
    found = {line["output"]: line["found"] for line in report["outputs"]}
    assert set(found) == {
        "every event", "quarantine", "a repartitioned", "b compatible", "c incompatible", "d your own", "datasets",
        "forwarded, by tag", "forwarded, all other types", "webhooks", "broken subscriber",
    }  # fmt: skip
    assert all(number > 0 for number in found.values())
    assert re.match(rf"{OBJECTS} objects of {TYPES} event types become", demo.output)
    for text in ("What became of the events", "What broke on purpose", "Every count is what the oracle computed"):
        assert text in demo.output


def test_what_is_broken_says_where_it_is_and_the_demo_ends_by_ctrl_c(
    demo: DemoProcess, report: dict[str, Any], are_gone: Callable[[Mapping[int, str]], bool]
) -> None:
    """The last test, because it ends the demo."""
    now = " ".join(broken["now"] for broken in report["broken"])
    assert re.search(r"\d+ messages wait for it, the oldest for \d+ s", now)
    demo.wait_for("Open next", 30)
    everything = {pid: born(pid) for pid in demo.below()}
    assert demo.end(deadline=120) == 0
    assert len(everything) >= 14  # AWS, Spark, code server, daemon, UI, consumer and webhooks, each with its guard
    assert are_gone(everything)
