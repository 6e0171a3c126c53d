"""A direct call sends what boto3 sends, and gives what boto3 gives, for each key and each answer."""

from __future__ import annotations

import base64
import json
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.direct_calls import REQUESTED, DirectClient
from tidegate.platform.prove.requests import Meter

BODY = b'{"id": 1}\n'
CRC = base64.b64encode(zlib.crc32(BODY).to_bytes(4, "big")).decode()
STATE = {"ETag": '"e"', "Last-Modified": "Mon, 30 Nov 2026 12:00:00 GMT"}
MESSAGE = {
    "MessageId": "m",
    "Body": "Füße \U0001f30a",
    "ReceiptHandle": "r",
    "Attributes": {"SentTimestamp": "1"},
    "MessageAttributes": {"b": {"DataType": "Binary", "BinaryValue": base64.b64encode(b"\x00\xff").decode()}},
}
#: Headers that differ from call to call, and those that only boto3's own retries need.
VOLATILE = {"authorization", "x-amz-date", "amz-sdk-invocation-id", "amz-sdk-request"}


@dataclass
class Answer:
    """An answer of the server; `cut` sends fewer bytes than it announces, and no answer closes the connection."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut: int = 0
    silent: bool = False


@dataclass
class Server:
    """An HTTP server that gives one answer to all, and records what it was asked."""

    answer: Answer = field(default_factory=Answer)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0

    def client(self, service: str) -> Any:
        """Return a client that does not wait long before it asks again."""
        return Aws(
            region_name="eu-north-1",
            max_attempts=0,
            endpoint_url=f"http://127.0.0.1:{self.port}",
            aws_access_key_id="AKIA",
            aws_secret_access_key="secret",
            aws_session_token="token",
        ).client(service)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _handle(self) -> None:
            given = state.answer
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            state.asked.append((self.command, self.path, headers, body))
            if given.silent:
                self.close_connection = True
                return
            self.send_response(given.status)
            for name, value in {"Content-Length": str(len(given.body)), **given.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(given.body[: len(given.body) - given.cut])
            self.close_connection = bool(given.cut)

        def do_GET(self) -> None:
            self._handle()

        def do_HEAD(self) -> None:
            self._handle()

        def do_POST(self) -> None:
            self._handle()

        def log_message(self, *_: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.port = httpd.server_address[1]
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield state
    httpd.shutdown()
    httpd.server_close()
    thread.join(10)


def _get(client: Any, key: str = "k", **more: Any) -> Any:
    answer = client.get_object(Bucket="landing", Key=key, **more)
    return _plain(answer), answer["Body"].read()


def _head(client: Any, key: str = "k", **more: Any) -> Any:
    return _plain(client.head_object(Bucket="landing", Key=key, **more))


def _receive(client: Any) -> Any:
    return _plain(client.receive_message(QueueUrl="http://q/1/events", MessageAttributeNames=["b"]))


def _delete(client: Any) -> Any:
    entries = [{"Id": "0", "ReceiptHandle": "r"}]
    return _plain(client.delete_message_batch(QueueUrl="http://q/1/events", Entries=entries))


CALLS: dict[Callable[..., Any], tuple[str, Answer]] = {
    _get: ("s3", Answer(headers={**STATE, "x-amz-checksum-crc32": CRC}, body=BODY)),
    _head: ("s3", Answer(headers={**STATE, "x-amz-version-id": "v", "x-amz-meta-a": "b"})),
    _receive: ("sqs", Answer(body=json.dumps({"Messages": [MESSAGE]}).encode())),
    _delete: ("sqs", Answer(body=b'{"Successful": [{"Id": "0"}], "Failed": []}')),
}


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    # What boto3 says about its attempts, of which it has one here.
    own = ("RetryAttempts", "MaxAttemptsReached")
    meta = {name: value for name, value in answer["ResponseMetadata"].items() if name not in own}
    meta["HTTPHeaders"] = {name: value for name, value in meta["HTTPHeaders"].items() if name != "date"}
    return {**{name: value for name, value in answer.items() if name not in ("Body", "ResponseMetadata")}, **meta}


def _outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ClientError as error:
        said = str(error).replace(" (reached max retries: 0)", "")
        return type(error).__name__, said, error.response["ResponseMetadata"]["HTTPStatusCode"]
    except (BotoCoreError, ValueError) as error:
        return type(error).__name__, str(error)


def _both(server: Server, call: Callable[..., Any], **params: Any) -> tuple[Any, Any]:
    """Return what boto3 gives for an answer of the server, and what a client gives that has learned the address."""
    service, good = CALLS[call]
    direct = server.client(service)
    given, server.answer = server.answer, good
    call(direct)
    server.answer = given
    server.asked.clear()
    return _outcome(lambda: call(direct._client, **params)), _outcome(lambda: call(direct, **params))


@pytest.mark.parametrize("call", CALLS)
def test_it_sends_and_gives_what_boto3_sends_and_gives(call: Callable[..., Any], server: Server) -> None:
    server.answer = CALLS[call][1]
    boto3s, direct = _both(server, call)
    assert direct == boto3s
    ours, theirs = server.asked[1], server.asked[0]
    assert len(server.asked) == 2
    assert ours[:2] == theirs[:2]
    assert ours[3] == theirs[3]
    for name in (ours[2].keys() | theirs[2].keys()) - VOLATILE:
        assert ours[2].get(name) == theirs[2].get(name), name
    signed = [request[2]["authorization"].partition("SignedHeaders")[0] for request in server.asked]
    assert signed[0] == signed[1]
    assert ours[2]["x-amz-security-token"] == "token"


@pytest.mark.parametrize("call", [_get, _head])
def test_the_path_of_each_key_is_that_of_boto3(call: Callable[..., Any], server: Server) -> None:
    keys = [f"a{chr(code)}b" for code in (*range(1, 256), 0x2028, 0xFFFD, 0x1F30A)]
    keys += ["a/../b", "a/./b", "../a", "a//b", "/a", "a/", "a%2Fb", "a?x=1&y#z", "x" * 1024]
    service, server.answer = CALLS[call]
    client = server.client(service)
    call(client)
    for key in keys:
        server.asked.clear()
        call(client, key=key)
        call(client._client, key=key)
        direct, boto3s = server.asked
        assert direct[1] == boto3s[1], key


@pytest.mark.parametrize("status", [300, 301, 307, 400, 401, 403, 404, 405, 409, 412, 416, 429, 500, 503])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("code", ["NoSuchKey", "SlowDown", ""])
def test_an_error_is_that_of_boto3(call: Callable[..., Any], status: int, code: str, server: Server) -> None:
    xml = f"<Error><Code>{code}</Code><Message>why</Message></Error>"
    body = xml if CALLS[call][0] == "s3" else json.dumps({"__type": f"com.amazonaws.sqs#{code}", "message": "why"})
    # Without a region, boto3 follows a redirection for ever.
    server.answer = Answer(status, {"x-amz-bucket-region": "eu-west-1"}, body.encode() if code else b"")
    boto3s, direct = _both(server, call)
    assert direct == boto3s
    assert isinstance(direct, tuple), "it is an error"


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "answer",
    [
        Answer(silent=True),
        Answer(body=b"<not json", headers=STATE),
        Answer(body=BODY, headers={**STATE, "Expires": "never"}),
        Answer(body=BODY, headers={**STATE, "Last-Modified": "yesterday"}),
        Answer(body=BODY, headers={**STATE, "Last-Modified": "Mon, 31 Feb 2026 12:00:00 GMT"}),
        Answer(body=BODY, headers={**STATE, "Last-Modified": "Fri, 30 Nov 2026 12:00:00 GMT"}),
        Answer(body=BODY, headers={**STATE, "Last-Modified": "Mon, 30 Abc 2026 12:00:00 GMT"}),
        Answer(body=BODY, headers={**STATE, "Last-Modified": "2026-11-30T12:00:00.5Z"}),
        Answer(body=BODY, headers={**STATE, "Last-Modified": "1796040000"}),
        Answer(body=BODY, headers={**STATE, "x-amz-checksum-crc32": "AAAAAA=="}),
        Answer(body=BODY, headers={**STATE, "x-amz-checksum-crc32": "AAAAAA==-2"}),
        Answer(body=BODY, headers=STATE, cut=5),
    ],
    ids=repr,
)
def test_a_strange_answer_ends_as_with_boto3(call: Callable[..., Any], answer: Answer, server: Server) -> None:
    server.answer = answer
    boto3s, direct = _both(server, call)
    assert direct == boto3s


@pytest.mark.parametrize("more", [{"Range": "bytes=-8"}, {"IfMatch": '"e"', "Range": "bytes=0-3"}, {"VersionId": "v"}])
def test_conditions_and_versions_reach_s3(more: dict[str, str], server: Server) -> None:
    server.answer = CALLS[_get][1]
    _both(server, _get, **more)
    theirs, ours = server.asked
    assert ours[1] == theirs[1]
    for name in ("range", "if-match", "x-amz-checksum-mode"):
        assert ours[2].get(name) == theirs[2].get(name)


def test_after_an_error_boto3_finds_the_address_again(server: Server) -> None:
    client = server.client("s3")
    server.answer = CALLS[_get][1]
    _get(client)
    server.answer = Answer(503)
    _outcome(lambda: _get(client))
    server.answer = CALLS[_get][1]
    server.asked.clear()
    for _ in range(2):
        _get(client)
    assert ["amz-sdk-request" in headers for _, _, headers, _ in server.asked] == [True, False]


def test_each_bucket_has_its_address(server: Server) -> None:
    server.answer = CALLS[_get][1]
    client = server.client("s3")
    for bucket in ("one", "two", "one", "two"):
        client.get_object(Bucket=bucket, Key="k")["Body"].read()
    assert [path for _, path, _, _ in server.asked] == ["/one/k", "/two/k", "/one/k", "/two/k"]
    assert ["amz-sdk-request" in headers for _, _, headers, _ in server.asked] == [True, True, False, False]


@pytest.mark.parametrize("call", [_get, _head])
def test_a_call_without_a_key_never_asks_for_the_bucket(call: Callable[..., Any], server: Server) -> None:
    server.answer = CALLS[call][1]
    for key in ("", None):
        boto3s, direct = _both(server, call, key=key)
        assert (direct[0], server.asked) == ("ParamValidationError", [])
        assert direct == boto3s


def test_a_call_with_a_version_is_boto3s_and_forgets_no_address(server: Server) -> None:
    server.answer = CALLS[_get][1]
    client = server.client("s3")
    for more in ({}, {"VersionId": "v"}, {}):
        _get(client, **more)
    assert ["amz-sdk-request" in headers for _, _, headers, _ in server.asked] == [True, True, False]


def test_a_key_of_a_customer_is_sent_as_boto3_sends_it(server: Server) -> None:
    server.answer = CALLS[_get][1]
    _both(server, _get, SSECustomerKey="k" * 32, SSECustomerAlgorithm="AES256")
    name = "x-amz-server-side-encryption-customer-key"
    assert server.asked[0][2][name] == server.asked[-1][2][name]
    assert len(server.asked) == 2


def test_another_thread_may_forget_an_address_at_any_time(server: Server) -> None:
    """Each time that an address is sought, a thread forgets all of them."""

    class Forgetful(dict):  # type: ignore[type-arg]
        def __contains__(self, place: object) -> bool:
            found = super().__contains__(place)
            self.clear()
            return found

    client = server.client("s3")
    client._addresses = Forgetful()
    server.answer = CALLS[_get][1]
    for _ in range(3):
        assert _get(client)[1] == BODY


def test_no_thread_keeps_what_it_has_sent(server: Server) -> None:
    client = server.client("s3")
    server.answer = CALLS[_get][1]
    _get(client)
    _outcome(lambda: client.put_object(Bucket="landing", Key="k", Body=b"large"))  # the server takes none
    assert getattr(client._calling, "request", None) is None


def test_closing_a_client_closes_its_connections(server: Server) -> None:
    client = server.client("s3")
    server.answer = CALLS[_get][1]
    for _ in range(2):
        _get(client)
    assert len(client._hosts.pools) == 1
    client.close()
    assert len(client._hosts.pools) == 0


def test_behind_a_proxy_every_call_is_boto3s(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.answer = CALLS[_get][1]
    keys = {"aws_access_key_id": "AKIA", "aws_secret_access_key": "secret"}
    client = Aws(region_name="eu-north-1", endpoint_url="http://s3.example", **keys).client("s3")
    for _ in range(2):
        _get(client)
    assert [path for _, path, _, _ in server.asked] == ["http://s3.example/landing/k"] * 2


def test_a_proxy_is_that_of_the_client_and_not_of_the_bucket(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """boto3 reads `no_proxy` for the address of its client. That of a bucket does not count."""
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("no_proxy", "landing.s3.eu-north-1.amazonaws.com")
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.answer = CALLS[_get][1]
    keys = {"aws_access_key_id": "AKIA", "aws_secret_access_key": "secret"}
    client = Aws(region_name="eu-north-1", use_ssl=False, max_attempts=0, **keys).client("s3")
    monkeypatch.setattr(client, "_ask", lambda *_: pytest.fail("it went past the proxy"))
    for _ in range(2):
        _get(client)
    assert [path for _, path, _, _ in server.asked] == ["http://landing.s3.eu-north-1.amazonaws.com/k"] * 2


def test_requests_can_be_counted(server: Server) -> None:
    client, seen = server.client("s3"), []
    client.meta.events.register(f"{REQUESTED}.s3", lambda operation_name, **_: seen.append(operation_name))
    server.answer = CALLS[_get][1]
    for _ in range(3):
        _get(client)
    assert seen == ["GetObject"] * 2, "the first was boto3's"


def test_a_client_without_keys_is_boto3s(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    assert not isinstance(Aws(region_name="eu-north-1").client("s3"), DirectClient)


def test_a_proof_counts_requests_of_both_kinds_once(server: Server) -> None:
    client, meter = server.client("s3"), Meter()
    meter.attach(client)
    server.answer = CALLS[_get][1]
    for _ in range(3):
        _get(client)
    assert (meter.counts, len(meter.seconds["s3.GetObject"])) == ({"s3.GetObject": 3}, 3)
    assert len(server.asked) == 3
