"""The command `tidegate webhook` as a process: real requests, a real queue, and what goes wrong between them."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import re
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.client import wait_until
from tests.support.servers.command_process import CommandProcess
from tests.support.servers.fault_proxy import Answer, FaultProxy, Request
from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients

SECRET = "a-secret-of-tests"
LAKE = """\
lake: {root: "s3://lake/x"}
queues: [{name: events}]
buckets: [landing]
tables:
  - {name: orders, row_queue: {name: webhook-rows}}
webhooks:
  - {name: shop, queue: webhook-rows, verification: github, secrets: [{env: OLD}, {file: secret}], max_bytes: 1000}
  - {name: bank, queue: webhook-rows, verification: stripe, secrets: [{env: OLD}]}
"""
SEND = "SendMessage(Batch)?$"
#: Seconds. Only a failing test waits so long.
DEADLINE = 60.0
WRITER_THREADS = 8


class PartlyRefusing(FaultProxy):
    """A proxy that lets SQS store no row whose text has the word `refused`.

    Attributes:
        sizes: number of rows of each call of which SQS refused a part.
    """

    def __init__(self, aws: LocalAws) -> None:
        super().__init__(aws.endpoint)
        self.sqs = Clients.connect(aws.endpoint, REGION, key="test", secret="test").sqs
        self.sizes: list[int] = []

    def answer(self, request: Request, forward: Any) -> Answer:
        if b"refused" not in request.body:
            return forward()  # type: ignore[no-any-return]
        call = json.loads(request.body)
        good = [entry for entry in call["Entries"] if "refused" not in entry["MessageBody"]]
        self.sizes.append(len(call["Entries"]))
        stored = self.sqs.send_message_batch(QueueUrl=call["QueueUrl"], Entries=good) if good else {}
        failed = [
            {"Id": entry["Id"], "Code": "InternalError", "SenderFault": False}
            for entry in call["Entries"]
            if entry not in good
        ]
        body = json.dumps({"Successful": stored.get("Successful", []), "Failed": failed}).encode()
        return Answer(200, "OK", [("Content-Type", "application/x-amz-json-1.0")], body)


class Server:
    """A running server.

    Args:
        process: the command.
    """

    def __init__(self, process: CommandProcess) -> None:
        self.process = process
        self.port = int(process.wait_for(r"listening on http://127\.0\.0\.1:(\d+)", DEADLINE)[1])
        self.operations = int(process.wait_for(r"operations on http://127\.0\.0\.1:(\d+)", DEADLINE)[1])

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], Any]:
        """Send a request. Returns status, headers and content of the answer."""
        port = self.operations if path in ("/readyz", "/metrics") else self.port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            text = answer.read().decode()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, named, json.loads(text) if "json" in named["content-type"] else text
        finally:
            connection.close()

    def deliver(self, id: str, body: str, secret: str = SECRET) -> tuple[int, dict[str, str], Any]:
        """Send a delivery as GitHub does."""
        raw = body.encode()
        signature = f"sha256={hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()}"
        return self.ask("POST", "/shop?token=hush", raw, x_hub_signature_256=signature, x_github_delivery=id)

    def connect(self, text: str) -> socket.socket:
        """Open a connection and send a part of a request."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE)
        connection.sendall(text.encode())
        return connection


@pytest.fixture(scope="module")
def aws_proxy(local_aws: LocalAws) -> Iterator[PartlyRefusing]:
    with PartlyRefusing(local_aws) as running:
        yield running


@pytest.fixture(scope="module")
def queue(aws_proxy: PartlyRefusing) -> Queue:
    return Queue(aws_proxy.sqs, aws_proxy.sqs.create_queue(QueueName="webhook-rows")["QueueUrl"])


def start(folder: Path, proxy: FaultProxy, aws: LocalAws, secret: str = SECRET) -> CommandProcess:
    (folder / "lake.yaml").write_text(LAKE)
    (folder / "secret").write_text(f"{secret}\n")
    (folder / "secret").chmod(0o600)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**aws.environ, "AWS_ENDPOINT_URL": proxy.endpoint, "OLD": "an-old-secret-of-tests"}.items():
            patch.setenv(name, value)
        patch.delenv("TIDEGATE_LAKE", raising=False)
        return CommandProcess(folder / "webhook.log", "webhook", "--port", "0", "--operations-port", "0", cwd=folder)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, aws_proxy: PartlyRefusing, queue: Queue, local_aws: LocalAws
) -> Iterator[Server]:
    with start(tmp_path_factory.mktemp("webhook"), aws_proxy, local_aws) as process:
        yield Server(process)


@pytest.fixture(autouse=True)
def clean(aws_proxy: PartlyRefusing) -> Iterator[None]:
    yield
    aws_proxy.clear()


def taken(queue: Queue, count: int) -> list[Message]:
    """Receive messages as the intake does, and delete them. There must be exactly so many."""
    found: list[Message] = []

    def came() -> bool:
        for chunk in queue.drain(seconds=2, messages=100, threads=1):
            queue.delete(chunk)
            found.extend(chunk)
        return len(found) >= count

    wait_until(came, f"{count} messages", DEADLINE)
    assert len(found) == count
    return found


def test_a_delivery_is_in_the_queue_when_it_is_answered_and_a_retry_has_the_same_identity(
    server: Server, queue: Queue, aws_proxy: PartlyRefusing
) -> None:
    assert server.ask("GET", "/readyz")[0] == server.ask("GET", "/healthz")[0] == 200
    assert server.deliver("d1", '{"id": 1.10}')[::2] == (200, {"row": "shop:d1"})
    assert server.deliver("d1", '{"id": 1.10}', "an-old-secret-of-tests")[0] == 200
    first, again = taken(queue, 2)
    assert first.body == again.body == '{"id": 1.10}'
    assert first.origin.message_id == again.origin.message_id == "shop:d1"
    assert again.origin.earliest < first.origin.sent_at < again.origin.latest

    # SQS stores a row and its answers are lost: the sender learns that it may not have worked, and sends it again.
    lost = aws_proxy.drop_reply("POST", SEND, times=2)
    status, headers, problem = server.deliver("d2", '{"id": 2}')
    assert (status, headers["retry-after"], problem["reason"]) == (503, "10", "unavailable")
    assert lost.forwarded == [200, 200]
    assert server.deliver("d2", '{"id": 2}')[0] == 200
    assert {message.origin.message_id for message in taken(queue, 3)} == {"shop:d2"}

    # An event with a time of its own has one identity for ever.
    body, now = b'{"id": "evt_1", "created": 1700000000}', int(time.time())
    signature = hmac.new(b"an-old-secret-of-tests", f"{now}.".encode() + body, hashlib.sha256).hexdigest()
    assert server.ask("POST", "/bank", body, stripe_signature=f"t={now},v1={signature}")[0] == 200
    assert [message.origin for message in taken(queue, 1)] == [RowOrigin("bank:evt_1", 1_700_000_000_000)]
    status, _, problem = server.ask("POST", "/bank", body, stripe_signature=f"t={now - 999},v1={signature}")
    assert (status, problem["reason"]) == (401, "signature")


def test_a_secret_is_replaced_while_deliveries_come_and_none_is_refused(
    queue: Queue, aws_proxy: PartlyRefusing, local_aws: LocalAws, tmp_path: Path
) -> None:
    new, path = "a-new-secret-of-tests", tmp_path / "secret"
    with start(tmp_path, aws_proxy, local_aws) as process:
        server = Server(process)

        def deliver(id: str, secret: str) -> int:
            return server.deliver(id, "{}", secret)[0]

        assert (deliver("r1", SECRET), deliver("r2", new)) == (200, 401)
        path.write_text(f"{new}\n{SECRET}\n")
        wait_until(lambda: (time.sleep(0.2), deliver("r3", new) == 200)[1], "the new secret counts", DEADLINE)
        assert deliver("r4", SECRET) == 200, "until the sender has the new one"
        path.write_text(f"{new}\n")
        wait_until(lambda: (time.sleep(0.2), deliver("r5", SECRET) == 401)[1], "the old secret is gone", DEADLINE)
        assert deliver("r6", new) == 200
        log = process.output
    ids = set[str]()
    wait_until(lambda: ids.update(_drained(queue)) or {"shop:r1", "shop:r4", "shop:r6"} <= ids, "the rows", DEADLINE)
    assert "shop:r2" not in ids
    assert "webhook shop: 3 secrets are valid now" in log
    assert not [secret for secret in (SECRET, new) if secret in log]


def _drained(queue: Queue) -> Iterator[str]:
    for chunk in queue.drain(seconds=1, messages=100, threads=1):
        queue.delete(chunk)
        yield from (message.origin.message_id for message in chunk)


def test_what_is_refused_is_not_in_the_queue_and_says_why(server: Server, queue: Queue) -> None:
    statuses = {
        "forged": server.deliver("d1", "{}", "forged"),
        "no row": server.deliver("d1", "[1]"),
        "no address": server.ask("POST", "/nobody-hush", b"{}"),
        "no POST": server.ask("PUT", "/shop", b"{}"),
        "large": server.deliver("d1", json.dumps({"a": "x" * 2000})),
        "endless": server.ask("POST", "/shop", b"{}", content_length="99999999999", x_hub_signature_256="sha256=00"),
    }
    found = {name: (status, headers["content-type"]) for name, (status, headers, _) in statuses.items()}
    problem = "application/problem+json"
    assert found == {
        "forged": (401, problem),
        "no row": (400, problem),
        "no address": (404, problem),
        "no POST": (405, problem),
        "large": (413, problem),
        "endless": (413, problem),
    }
    assert "not an object" in statuses["no row"][2]["detail"]
    assert server.ask("GET", "/metrics")[2].count('outcome="too-large"} 2') == 1
    assert queue.depth() == (0, 0)
    assert not re.search("hush|secret|forged", server.process.output)


def test_each_delivery_of_a_call_that_sqs_stores_in_part_has_its_own_answer(
    server: Server, queue: Queue, aws_proxy: PartlyRefusing
) -> None:
    held = aws_proxy.hold("POST", SEND, times=WRITER_THREADS)
    with ThreadPoolExecutor(WRITER_THREADS + 3) as pool:
        first = [pool.submit(server.deliver, f"h{n}", "{}") for n in range(WRITER_THREADS)]
        held.wait_caught(DEADLINE, WRITER_THREADS)
        # Every thread of the writer is busy, so these leave together.
        bodies = ['{"a": "good"}', '{"a": "refused"}', '{"a": "better"}']
        later = [pool.submit(server.deliver, f"p{n}", body) for n, body in enumerate(bodies)]
        wait_until(lambda: _under_way(server) == 11, "all deliveries under way", DEADLINE)
        held.release()
        assert [future.result(DEADLINE)[0] for future in first] == [200] * WRITER_THREADS
        assert [future.result(DEADLINE)[0] for future in later] == [200, 503, 200]
    assert aws_proxy.sizes == [3]
    rows = {message.origin.message_id for message in taken(queue, WRITER_THREADS + 2)}
    assert {"shop:p0", "shop:p2"} < rows


def _under_way(server: Server) -> int:
    found = re.search(r"^tidegate_webhook_under_way (\d+)$", server.ask("GET", "/metrics")[2], re.MULTILINE)
    assert found
    return int(found[1])


def test_without_sqs_deliveries_are_refused_until_it_is_back(
    server: Server, queue: Queue, aws_proxy: PartlyRefusing
) -> None:
    aws_proxy.status("POST", SEND, 503, times=2)
    status, headers, _ = server.deliver("d3", "{}")
    assert (status, headers["retry-after"]) == (503, "10")
    assert server.deliver("d3", "{}")[0] == 200
    assert len(taken(queue, 1)) == 1


def test_a_sender_that_dawdles_is_cut_off(server: Server) -> None:
    """Ten seconds each, at the same time: of silence, of half a header, and of half a body."""
    begun = time.monotonic()
    silent, header = server.connect(""), server.connect("POST /shop HTTP/1.1\r\nHost: x\r\nX-")
    signed = "POST /shop HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: x\r\nContent-Length: 100\r\n"
    body = server.connect(f"{signed}\r\n{{")
    huge = server.connect("POST /shop HTTP/1.1\r\nHost: x\r\nX-Huge: " + "x" * 80_000)
    many = server.connect("POST /shop HTTP/1.1\r\nHost: x\r\n" + "a:\r\n" * 101)
    blank = server.connect("\r\n" * 40_000)
    unsigned = server.connect("POST /shop HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
    with silent, header, body, huge, many, blank, unsigned:
        refused = b"".join(iter(lambda: unsigned.recv(65_536), b""))
        assert refused.startswith(b"HTTP/1.1 401 "), "its body is not waited for"
        assert _closed(many)
        assert _closed(blank)
        answer = b"".join(iter(lambda: body.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"connection: close" in answer
        for connection in (silent, header):
            assert connection.recv(65_536) == b""
        assert _closed(huge)
    assert time.monotonic() - begun < DEADLINE
    assert server.ask("GET", "/healthz")[0] == 200


def test_senders_do_not_reach_what_is_for_operators(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE)
    for path in ("/readyz", "/metrics"):
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 405, "it is the address of a sender"
        assert b"queue" not in answer.read()
        connection.close()


def _closed(connection: socket.socket) -> bool:
    """Return whether the server has closed a connection without an answer.

    What it has not read makes the end a reset.
    """
    try:
        return connection.recv(65_536) == b""
    except ConnectionResetError:
        return True


def test_at_sigterm_deliveries_under_way_are_answered_and_no_new_ones_are_taken(
    tmp_path: Path, queue: Queue, aws_proxy: PartlyRefusing, local_aws: LocalAws
) -> None:
    with start(tmp_path, aws_proxy, local_aws) as process, ThreadPoolExecutor(2) as pool:
        server = Server(process)
        held = aws_proxy.hold("POST", SEND)
        try:
            delivery = pool.submit(server.deliver, "last", '{"id": 9}')
            held.wait_caught(DEADLINE)
            process._process.send_signal(signal.SIGTERM)
            wait_until(lambda: not _accepts(server), "a closed port", DEADLINE)
            assert process.running
        finally:
            held.release()
        assert delivery.result(DEADLINE)[0] == 200
        assert process.exit_code(DEADLINE) == 0
        assert process.output.rstrip().endswith("stopped")
    assert [message.origin.message_id for message in taken(queue, 1)] == ["shop:last"]


def _accepts(server: Server) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port), timeout=5).close()
    except OSError:
        return False
    return True


def test_a_server_without_one_of_its_secrets_does_not_start(
    tmp_path: Path, aws_proxy: PartlyRefusing, local_aws: LocalAws
) -> None:
    with start(tmp_path, aws_proxy, local_aws, "") as process:
        assert process.exit_code(DEADLINE) == 1
    assert process.output == "error: webhook shop: the file secret is empty\n"
