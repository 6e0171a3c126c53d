"""Headers are bounded in number, and in bytes on the wire, however they come; requests come one at a time."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from tidegate.platform.webhook import http_protocol
from tidegate.platform.webhook.http_protocol import BoundedProtocol

BEGIN = b"POST /shop HTTP/1.1\r\nHost: x\r\n"


class Transport(asyncio.Transport):
    """A transport that remembers whether it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False

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
        return ("192.0.2.1", 1) if name == "peername" else default


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
        protocol._wait_no_more()
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
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], answer: bytes
) -> tuple[list[bytes], list[int]]:
    """Let a client talk to a server until the server has lost the connection.

    Returns the bodies of the requests that reached the application, and the requests that the connection held then.
    """
    bodies, held = list[bytes](), list[int]()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
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
