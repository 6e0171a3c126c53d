"""The demo of events waits until everything arrived, and its billing provider repeats what got no answer."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.webhook.refusal import Refusal
from tidegate.platform.core.webhook.scheme import Received
from tidegate.platform.core.webhook.schemes import verify_standard
from tidegate.platform.demo.events import settle
from tidegate.platform.demo.events.billing import SECRET, BillingProvider, billing_row
from tidegate.platform.demo.events.settle import PendingWork, wait_until_arrived
from tidegate.platform.demo.events.subscribers import ConsumerProcess

NOTHING, SOME = PendingWork(0, 0, 0, 0, 0), PendingWork(1_200, 0, 3, 0, 0)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "_PAUSE", 0.0)


def test_it_is_over_when_everything_was_sent_and_nothing_is_on_its_way_twice() -> None:
    """A message that is between two places is in neither of them for a moment."""
    found = iter([SOME, NOTHING, SOME, NOTHING, NOTHING, SOME])
    sent = iter([False, False, True, True, True])
    shown: list[str] = []
    wait_until_arrived(lambda: next(found), done=lambda: next(sent), show=shown.append, deadline=60)
    assert next(found) is SOME
    assert shown[:2] == ["1,200 in the queue · 3 runs", "nothing on its way"]


def test_what_did_not_arrive_is_named() -> None:
    with pytest.raises(UnavailableError, match=r"within 0 s: 1,200 in the queue · 3 runs\. Look at the runs"):
        wait_until_arrived(lambda: SOME, done=lambda: True, show=lambda _: None, deadline=0.05)


class _Billed(BaseHTTPRequestHandler):
    """Answers 503 to the first delivery of each webhook, and verifies the others."""

    stored: ClassVar[Counter[str]] = Counter()
    seen: ClassVar[set[str]] = set()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        name = self.headers["webhook-id"]
        first = name not in self.seen
        self.seen.add(name)
        try:
            headers = {name.lower(): value for name, value in self.headers.items()}
            verify_standard(Received(headers, body, time.time()), [SECRET])
        except Refusal:
            self._answer(401)
            return
        if not first:
            self.stored[json.loads(body)["id"]] += 1
        self._answer(503 if first else 200)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Billed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_the_provider_repeats_until_it_is_answered_and_again_when_the_answer_is_lost(
    port: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr("tidegate.platform.demo.events.billing._PAUSE", 0.0)
    provider = BillingProvider(port, 5)
    request.addfinalizer(provider.stop)
    provider.start()
    provider._thread.join(timeout=20)
    assert provider.done
    assert _Billed.stored == {billing_row(n)["id"]: 3 if n % 4 == 0 else 1 for n in range(5)}
    assert (provider.delivered, provider.forged, provider.refused) == (5, 1, 1)
    assert provider.deliveries == 5 + provider.unanswered + provider.forged
    assert provider.unanswered == 5 + 2 * 2


def test_an_object_that_the_consumer_processed_twice_is_an_error(tmp_path: Path) -> None:
    consumer = ConsumerProcess("http://127.0.0.1/queue", tmp_path, {})
    consumer.log.parent.mkdir()
    lines = [{"type": "orders.created", "key": key, "bytes": 5} for key in ("a", "b")]
    consumer.log.write_text("a warning\n" + "".join(json.dumps(line) + "\n" for line in lines))
    assert consumer.processed_keys() == {"orders.created": {"a", "b"}}
    with consumer.log.open("a") as log:
        log.write(json.dumps(lines[0]) + "\n")
    with pytest.raises(ValueError, match="processed a twice"):
        consumer.processed_keys()
