"""Headers are bounded in number, and in bytes on the wire, however they come."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

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

    def pause_reading(self) -> None:
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
