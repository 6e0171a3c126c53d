"""An HTTP proxy in front of the local AWS that misbehaves on request. For tests."""

from __future__ import annotations

import http.client
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.support.servers.fault_rules import Cut, Drop, Hold, Rule, Status
from tidegate.platform.local.process.ports import LOOPBACK
from tidegate.platform.local.process.process import RunningServer

_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "upgrade", "expect", "proxy-connection", "te"}


class Answer:
    """What is answered to a request."""

    def __init__(self, status: int, reason: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = body


@dataclass(frozen=True)
class Request:
    """A request as a client sent it, with its whole body."""

    method: str
    path: str
    headers: Message
    body: bytes


class FaultProxy(RunningServer):
    """Forwards everything to `upstream` (an http:// URL), except what its rules catch.

    `method` and `path` of a rule are regular expressions. The first must match the whole method. The second is searched
    in the path with its query, as sent. The single path of DynamoDB, SQS and SNS is followed by the operation,
    `/PutItem`. The latest rule that catches a request decides. `count` rules also see every request. `times` is the
    number of requests that a rule catches before it is used up; None for all. DynamoDB's requests go to `dynamodb`, if
    given.
    """

    def __init__(self, upstream: str, dynamodb: str | None = None) -> None:
        self._upstream = _address(upstream)
        self._dynamodb = _address(dynamodb or upstream)
        self._rules: list[Rule] = []
        self._counters: list[Rule] = []
        self._server: ThreadingHTTPServer | None = None
        self.port = 0

    @property
    def endpoint(self) -> str:
        """The URL for clients."""
        return f"http://{LOOPBACK}:{self.port}"

    def hold(self, method: str, path: str, times: int | None = 1) -> Hold:
        """Keep matching requests, fully read, until they are released."""
        rule = Hold(method, path, times)
        self._rules.insert(0, rule)
        return rule

    def cut(self, method: str, path: str, times: int | None = 1) -> Rule:
        """Close the connection of matching requests instead of forwarding them."""
        return self._add(Cut(method, path, times))

    def drop_reply(self, method: str, path: str, times: int | None = 1) -> Rule:
        """Forward matching requests and close the connection instead of answering."""
        return self._add(Drop(method, path, times))

    def status(self, method: str, path: str, status: int, times: int | None = 1, *, body: bytes = b"") -> Rule:
        """Answer matching requests with `status` (500, 503, 409, …) and do not forward them."""
        return self._add(Status(method, path, times, status, body))

    def count(self, method: str, path: str) -> Rule:
        """Count the matching requests, and do nothing else."""
        rule = Rule(method, path, None)
        self._counters.append(rule)
        return rule

    def _add(self, rule: Rule) -> Rule:
        self._rules.insert(0, rule)
        return rule

    def start(self) -> None:
        """Listen on a free port of loopback."""
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = _Server((LOOPBACK, 0), Handler)
        self.port = self._server.server_port
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=(0.05,), name="fault proxy", daemon=True).start()

    def clear(self) -> None:
        """Release everything held and remove all rules."""
        rules, self._rules, self._counters = self._rules, [], []
        for rule in rules:
            if isinstance(rule, Hold):
                rule.release()

    def stop(self) -> None:
        """Release everything held and stop listening."""
        self.clear()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _match(self, method: str, path: str) -> list[Rule]:
        caught = [rule for rule in list(self._counters) if rule.catches(method, path)]
        for rule in list(self._rules):
            if rule.catches(method, path):
                return [rule, *caught]
        return caught

    def answer(self, request: Request, forward: Callable[[], Answer]) -> Answer:
        """Return the answer to a request that no rule answers.

        Args:
            request: the request as sent.
            forward: gets the upstream's answer.
        """
        return forward()

    def _upstream_of(self, target: str) -> tuple[str, int]:
        return self._dynamodb if target.startswith("DynamoDB") else self._upstream


def _forward(upstream: tuple[str, int], method: str, path: str, headers: list[tuple[str, str]], body: bytes) -> Answer:
    connection = http.client.HTTPConnection(*upstream, timeout=120)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders(body)
        reply = connection.getresponse()
        return Answer(reply.status, reply.reason, reply.getheaders(), reply.read())
    finally:
        connection.close()


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or LOOPBACK, parts.port or 80


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Do nothing: clients that disconnect are normal here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: FaultProxy

    def _handle(self) -> None:
        body = self._body()
        rules = self.owner._match(self.command, self.path + (self._target.rpartition(".")[2] or self._action(body)))
        for rule in rules:
            rule.before()
        if any(rule.cuts() for rule in rules):
            self.close_connection = True
            return
        reply = next((found for rule in rules if (found := rule.reply()) is not None), None)
        if reply is not None:
            status, content = reply
            answer = Answer(status, http.client.responses.get(status, ""), [], content)
        else:
            request = Request(self.command, self.path, self.headers, body)
            answer = self.owner.answer(request, lambda: self._pass_on(body))
            for rule in rules:
                rule.answered(answer.status)
        if any(rule.drops() for rule in rules):
            self.close_connection = True
            return
        with suppress(OSError):
            self._answer(answer)

    @property
    def _target(self) -> str:
        """Service and operation of DynamoDB's protocol. Empty for S3."""
        return self.headers.get("X-Amz-Target", "")

    def _action(self, body: bytes) -> str:
        """Return the operation of SNS's protocol. Empty for any other."""
        is_form = self.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded")
        found = re.search(rb"(?:^|&)Action=(\w+)", body) if is_form else None
        return found[1].decode() if found else ""

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _pass_on(self, body: bytes) -> Answer:
        headers = [
            (name, value)
            for name, value in self.headers.items()
            if name.lower() not in _HOP_BY_HOP | {"content-length"}
        ]
        if body or self.command in ("PUT", "POST"):
            headers.append(("Content-Length", str(len(body))))
        try:
            return _forward(self.owner._upstream_of(self._target), self.command, self.path, headers, body)
        except (OSError, http.client.HTTPException) as error:
            return Answer(502, "Bad Gateway", [], str(error).encode())

    def _answer(self, answer: Answer) -> None:
        self.send_response_only(answer.status, answer.reason)
        has_length = False
        for name, value in answer.headers:
            if name.lower() in _HOP_BY_HOP or (name.lower() == "content-length" and self.command != "HEAD"):
                continue
            has_length = has_length or name.lower() == "content-length"
            self.send_header(name, value)
        if not has_length and answer.status not in (204, 304):
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = _handle  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the rules record the requests."""
