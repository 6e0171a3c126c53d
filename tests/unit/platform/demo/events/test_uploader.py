"""Objects of the demo of events are put by plain HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from tidegate.platform.demo.events.producers import BARRIER
from tidegate.platform.demo.events.uploader import EventsUploader


class Handler(BaseHTTPRequestHandler):
    """Takes objects, and ends each connection after three, without saying so in the answer before."""

    protocol_version = "HTTP/1.1"
    bodies: dict[str, bytes]
    taken = 0

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.bodies[self.path] = body
        self.send_response(500 if b"refused" in body else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.taken += 1
        self.close_connection = self.taken == 3

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    Handler.bodies = {}
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
        yield running
        running.shutdown()


def put(key: str, body: str) -> dict[str, str]:
    return {"op": "put", "key": key, "kind": "event", "body": body}


def test_every_operation_is_done_once_though_connections_end(server: ThreadingHTTPServer) -> None:
    sent: list[str] = []
    sqs = SimpleNamespace(send_message=lambda **given: sent.append(given["MessageBody"]))
    uploader = EventsUploader(f"http://127.0.0.1:{server.server_port}", sqs, "queue")
    puts = [put(f"events/a b/date=2026-03-02/{n}.json", f"{n}é") for n in range(2 * BARRIER)]
    uploader.upload([*puts, {"op": "send", "key": None, "kind": "redelivered", "body": "again"}])
    assert Handler.bodies == {
        f"/tidegate-landing/events/a%20b/date=2026-03-02/{n}.json": f"{n}é".encode() for n in range(2 * BARRIER)
    }
    assert (uploader.sent, sent) == (2 * BARRIER + 1, ["again"])


def test_an_object_that_is_refused_ends_the_upload(server: ThreadingHTTPServer) -> None:
    uploader = EventsUploader(f"http://127.0.0.1:{server.server_port}", None, "queue")
    with pytest.raises(RuntimeError, match=r"s3://tidegate-landing/a\.json: status 500"):
        uploader.upload([put("a.json", "refused")])
