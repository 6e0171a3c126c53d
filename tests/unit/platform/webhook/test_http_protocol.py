"""Headers are bounded in number, and in bytes on the wire, however they come; requests come one at a time."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from uvicorn.config import Config
from uvicorn.server import ServerState

from tidegate.platform.webhook import http_protocol
from tidegate.platform.webhook.http_protocol import BoundedProtocol

BEGIN = b"POST /shop HTTP/1.1\r\nHost: x\r\n"


class Transport(asyncio.Transport):
    """A transport that remembers whether it was closed."""

    def __init__(self, address: str = "192.0.2.1") -> None:
        super().__init__()
        self.address, self.closed = address, False

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def write(self, data: Any) -> None:
        pass

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self.address, 1) if name == "peername" else default


def fed(*chunks: bytes) -> tuple[bool, int, int]:
    """Feed a connection. Returns whether it is closed, and the number and the bytes of the headers that it keeps."""

    async def run() -> tuple[bool, int, int]:
        async def application(scope: Any, receive: Any, send: Any) -> None:
            await asyncio.Event().wait()

        config = Config(application, http=BoundedProtocol, lifespan="off", ws="none", log_config=None)
        config.load()
        protocol, transport = BoundedProtocol(config, ServerState(), {}, asyncio.get_running_loop()), Transport()
        protocol.connection_made(transport)
        for chunk in chunks:
            if not transport.closed:
                protocol.data_received(chunk)
        headers, url = getattr(protocol, "headers", None) or [], getattr(protocol, "url", None) or b""
        kept = len(headers), sum(len(name) + len(value) for name, value in headers) + len(url)
        protocol._release_waiting_place()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return transport.closed, *kept

    return asyncio.run(run())


@pytest.mark.parametrize("chunk", [1 << 18, 1000], ids=["one read", "many reads"])
@pytest.mark.parametrize(
    ("text", "closed"),
    [
        (BEGIN + b"a:\r\n" * 65_000, True),
        (BEGIN + b"a:\r\n" * 65_000 + b"\r\n", True),
        (BEGIN + b"a:\r\n" * 99 + b"\r\n", False),
        (BEGIN + b"a:\r\n" * 100 + b"\r\n", True),
        (BEGIN + b"a:" + b"x" * 70_000, True),
        (b"POST /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", True),
        (BEGIN + b"a:" + b" " * 70_000, True),
        (b"\r\n" * 40_000, True),
        (BEGIN + b"Content-Length: 200000\r\n\r\n" + b"x" * 200_000, False),
        (BEGIN + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"a:\r\n" * 1_000 + b"\r\n", True),
    ],
    ids=["many", "complete", "hundred", "too-many", "long", "address", "blanks", "lines", "body", "trailers"],
)
def test_headers_are_bounded(text: bytes, closed: bool, chunk: int) -> None:
    found, headers, size = fed(*(text[at : at + chunk] for at in range(0, len(text), chunk)))
    assert found == closed
    assert headers <= 100
    assert size <= 65_536


#: Seconds after which a test has failed.
DEADLINE = 30
SHORT = b"GET / HTTP/1.1\r\n\r\n"


def connected(
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], answer: bytes, reads: bool = True
) -> tuple[list[bytes], list[int]]:
    """Let a client talk to a server until the server has lost the connection.

    Returns the bodies of the requests that reached the application, and the requests that the connection held then.
    """
    bodies, held = list[bytes](), list[int]()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", reads
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        bodies.append(body)
        # What came with the request is known before its answer.
        await asyncio.sleep(0)
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(answer))]}
        )
        await send({"type": "http.response.body", "body": answer})

    async def run() -> None:
        lost = asyncio.Event()

        class Protocol(BoundedProtocol):
            def connection_lost(self, exc: Exception | None) -> None:
                held.append(len(self.pipeline))
                super().connection_lost(exc)
                lost.set()

        config = Config(application, http=Protocol, lifespan="off", ws="none", log_config=None)
        config.load()
        loop, state = asyncio.get_running_loop(), ServerState()
        server = await loop.create_server(lambda: Protocol(config, state, {}, loop), "127.0.0.1", 0)
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.setblocking(False)
        await loop.sock_connect(client, server.sockets[0].getsockname())
        reader, writer = await asyncio.open_connection(sock=client, limit=1_024)
        await talk(reader, writer)
        await asyncio.wait_for(lost.wait(), DEADLINE)
        writer.transport.abort()
        server.close()
        await server.wait_closed()

    asyncio.run(run())
    return bodies, held


@pytest.mark.parametrize(
    "text",
    [
        SHORT * 3,
        SHORT * 10_000,
        b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nother" + SHORT,
        SHORT + b"GET / HTTP/1.1\r\nno",
    ],
    ids=["three", "many", "a body beyond", "a part"],
)
def test_a_request_before_the_last_answer_is_not_read_and_ends_the_connection(text: bytes) -> None:
    found = list[bytes]()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(text)
        try:
            while piece := await asyncio.wait_for(reader.read(1_000), DEADLINE):
                found.append(piece)
        except ConnectionResetError:
            pass  # The server closes with bytes that it has not read.

    assert connected(talk, b"done") == ([b""], [0])
    (answer,) = [b"".join(found)]
    assert answer.count(b"HTTP/1.1 200") == 1
    assert b"connection: close" in answer
    assert answer.endswith(b"done")


def test_requests_one_after_the_other_share_a_connection() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(3):
            writer.write(SHORT)
            head = await asyncio.wait_for(reader.readuntil(b"done"), DEADLINE)
            assert b"connection: close" not in head
        writer.close()

    assert connected(talk, b"done") == ([b""] * 3, [0])


@pytest.mark.parametrize("ask", [SHORT, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", SHORT * 2])
def test_an_answer_that_the_client_does_not_read_ends_the_connection(
    ask: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_protocol, "WRITE_SECONDS", 0.05)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(ask)

    assert connected(talk, b"x" * (32 << 20)) == ([b""], [0])


def test_no_number_of_requests_is_held_for_a_client_that_does_not_read() -> None:
    async def run() -> tuple[int, int]:
        async def application(scope: Any, receive: Any, send: Any) -> None:
            await asyncio.Event().wait()

        config = Config(application, http=BoundedProtocol, lifespan="off", ws="none", log_config=None)
        config.load()
        state = ServerState()
        protocol, transport = BoundedProtocol(config, state, {}, asyncio.get_running_loop()), Transport()
        protocol.connection_made(transport)
        protocol.pause_writing()
        for _ in range(4):
            protocol.data_received(SHORT * 3_000)
        held = len(protocol.pipeline), len(state.tasks)
        protocol.connection_lost(None)
        for task in list(state.tasks):
            task.cancel()
        await asyncio.gather(*state.tasks, return_exceptions=True)
        return held

    assert asyncio.run(run()) == (0, 1)


#: What a client sends on one connection.
_TALKS = [
    b"GET /healthz HTTP/1.1\r\nContent-Length: 2\r\n\r\nab",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\na: b\r\n\r\n",
    b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na",
    b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nab",
    b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n",
    b"HEAD / HTTP/1.0\r\n\r\n",
    SHORT,
    b"\r\n",
    b"no\r\n",
]


@given(
    talk=st.lists(st.sampled_from(_TALKS), min_size=1, max_size=3).map(b"".join),
    steps=st.lists(st.sampled_from([1, 2, 9, 60, "answer", "begin", "stop"]), min_size=4, max_size=12),
    reads=st.booleans(),
)
@example(talk=b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\na", steps=[60, "answer", 1, 1], reads=False)
def test_an_open_connection_always_has_one_timer_or_a_request_that_the_application_answers(
    talk: bytes, steps: list[int | str], reads: bool
) -> None:
    async def run() -> None:
        may_begin, may_end = asyncio.Event(), asyncio.Event()

        async def application(scope: Any, receive: Any, send: Any) -> None:
            while reads and (await receive()).get("more_body"):
                pass
            await may_begin.wait()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
            await may_end.wait()
            await send({"type": "http.response.body", "body": b""})

        config = Config(application, http=BoundedProtocol, lifespan="off", ws="none", log_config=None)
        config.load()
        state = ServerState()
        protocol, transport = BoundedProtocol(config, state, {}, asyncio.get_running_loop()), Transport()
        protocol.connection_made(transport)
        rest = talk
        for step in [*steps, len(talk), "answer"]:
            may_begin.clear()
            may_end.clear()
            if isinstance(step, int):
                if rest and not transport.closed:
                    protocol.data_received(rest[:step])
                rest = rest[step:]
            elif step == "stop":
                protocol.shutdown()
            else:
                may_begin.set()
                if step == "answer":
                    may_end.set()
            for _ in range(4):
                await asyncio.sleep(0)
            if not transport.closed:
                is_answered = protocol.cycle is None or protocol.cycle.response_complete
                assert (protocol._due is not None) == is_answered == bool(protocol._silent)
                assert protocol.timeout_keep_alive_task is None
                assert not (is_answered and protocol._in_body), "what comes of a body after its answer is for nobody"
        protocol.connection_lost(None)
        for task in list(state.tasks):
            task.cancel()
        await asyncio.gather(*state.tasks, return_exceptions=True)
        assert (protocol._due, len(protocol._silent)) == (None, 0)

    asyncio.run(run())


def test_silent_connections_of_one_network_keep_no_other_out() -> None:
    async def run() -> tuple[list[str], list[bool], int]:
        asked = list[str]()

        async def application(scope: Any, receive: Any, send: Any) -> None:
            asked.append(scope["client"][0])
            await asyncio.Event().wait()

        config = Config(
            application, http=BoundedProtocol, lifespan="off", ws="none", log_config=None, limit_concurrency=9
        )
        config.load()
        state, transports = ServerState(), list[Transport]()

        def connect(address: str) -> BoundedProtocol:
            protocol, transport = BoundedProtocol(config, state, {}, asyncio.get_running_loop()), Transport(address)
            transports.append(transport)
            protocol.connection_made(transport)
            return protocol

        async def ask(address: str) -> None:
            connect(address).data_received(SHORT)
            await asyncio.sleep(0)

        await ask("192.0.2.1")
        for _ in range(30):
            connect("192.0.2.1")
        connect("198.51.100.1")
        for number in range(20):
            connect(f"2001:db8::{number:x}").data_received(b"POST / HT")
        await ask("203.0.113.1")
        connect("198.51.100.2")
        await ask("2001:db8:1::1")
        protocols = list(state.connections)
        others = [
            transport.closed for transport in transports if not transport.address.startswith(("192", "2001:db8::"))
        ]
        closed = [transports[0].closed, *others]
        for protocol in protocols:
            protocol.connection_lost(None)
        for task in list(state.tasks):
            task.cancel()
        await asyncio.gather(*state.tasks, return_exceptions=True)
        return asked, closed, len(protocols)

    asked, closed, count = asyncio.run(run())
    assert asked == ["192.0.2.1", "203.0.113.1", "2001:db8:1::1"], "none was answered 503 by Uvicorn"
    assert (closed, count) == ([False] * 5, 8), "neither a request under way nor the only one of its network is closed"


@pytest.mark.parametrize("later", [b"a", b"ab", b"ab" + SHORT])
def test_an_answer_before_the_end_of_the_body_ends_the_connection(later: bytes) -> None:
    found = list[bytes]()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(_TALKS[0][:-2])
        found.append(await asyncio.wait_for(reader.readuntil(b"done"), DEADLINE))
        writer.write(later)

    assert connected(talk, b"done", reads=False) == ([b""], [0])
    assert b"connection: close" in found[0]
