"""HTTP connections with one request at a time, whose headers and answers are bounded. Uvicorn bounds neither."""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from tidegate.platform.webhook.connection_limits import Places, client_network

#: Seconds from a connection, or the first byte of a further request, to the end of its headers.
HEADER_SECONDS = 10.0
#: Seconds from an answer to the first byte of a further request.
IDLE_SECONDS = 5.0
#: Seconds for which bytes of an answer may wait for the client to read.
WRITE_SECONDS = 10.0
#: Bytes on the wire until the headers have ended, and the number of headers, those after a body included. A header of
#: three bytes takes a hundred in memory.
_MAX_HEADER_BYTES, _MAX_HEADERS = 65_536, 100
#: The connections of each server that wait for a request.
_WAITING_CONNECTIONS = WeakKeyDictionary[ServerState, Places["BoundedProtocol"]]()


class BoundedProtocol(HttpToolsProtocol):
    """A connection that is closed if a client says nothing, or too much, or does not read its answer.

    A request that comes before the answer to the one before it is not read: the connection ends with that answer. It
    ends, too, with an answer that begins before the body has ended. So a connection always waits for one thing: for a
    request, with a timer, or for an answer, of which the application bounds the time.

    If there are as many connections as there may be, the oldest one that waits for a request is closed, of the network
    that has most of these. So clients that say nothing keep no other from being answered.
    """

    _due: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _ends = _persists = _idle = False
    _header_bytes = _parsed_bytes = _headers = 0
    _in_body = False

    def __init__(self, config: Config, server_state: ServerState, *given: Any, **named: Any) -> None:
        super().__init__(config, server_state, *given, **named)
        self._silent = _WAITING_CONNECTIONS.setdefault(server_state, Places())
        self._network = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._network = client_network(self.client[0]) if self.client else ""
        # Uvicorn answers 503 to every request as soon as there are so many connections.
        full = self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency
        if full and (oldest := self._silent.drop()):
            self.connections.discard(oldest)
            oldest.transport.abort()
        # So that the transport reports each byte that waits, of an answer after which it is closed, too.
        transport.set_write_buffer_limits(high=0)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._release_waiting_place()
        self._is_read()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for the client to read its answer."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Wait no more."""
        super().resume_writing()
        self._is_read()

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def data_received(self, data: bytes) -> None:
        """Count the bytes until the headers have ended, those that the parser skips included."""
        if self._ends or self.transport.is_closing():
            return
        if not self._in_body:
            self._header_bytes += len(data)
            if self._idle:
                self._wait()
        super().data_received(data)
        if not self._in_body and self._header_bytes > _MAX_HEADER_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Wait for the end of the headers. If the last request has no answer yet, the connection ends with it."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive, self._ends = False, True
            self.flow.pause_reading()
        if self._ends:
            return
        super().on_message_begin()
        self._headers = self._parsed_bytes = 0
        self._wait()

    def on_url(self, url: bytes) -> None:
        """Keep the address only up to the limit."""
        if not self._ends and self._is_bounded(len(url)):
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header only up to the limits."""
        if self._ends:
            return
        self._headers += 1
        if self._is_bounded(len(name) + len(value)) and self._headers <= _MAX_HEADERS:
            super().on_header(name, value)
        else:
            self.transport.close()

    def on_headers_complete(self) -> None:
        """Wait no more, and begin the request unless the connection is being closed."""
        if self._ends:
            return
        self._release_waiting_place()
        self._in_body = True
        if not self.transport.is_closing():
            super().on_headers_complete()
            # Until the body has ended. What comes of a body after its answer would be read for nobody.
            self._persists, self.cycle.keep_alive = self.cycle.keep_alive, False

    def on_body(self, body: bytes) -> None:
        """Keep the body of a request that is read."""
        if not self._ends:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Count from the start for the next request."""
        if self._ends or self.transport.is_closing():
            return
        self._in_body, self._header_bytes = False, 0
        if not self.cycle.response_started:
            self.cycle.keep_alive = self._persists
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for a further request."""
        super().on_response_complete()
        self._unset_keepalive_if_required()
        if not self.transport.is_closing():
            self._wait(IDLE_SECONDS)
            self._idle = True

    def shutdown(self) -> None:
        """End the connection with the answer to its request."""
        self._persists = False
        super().shutdown()

    def _is_bounded(self, length: int) -> bool:
        """Count what was parsed. One read of a socket may have more bytes than all headers may have."""
        self._parsed_bytes += length
        if self._parsed_bytes > _MAX_HEADER_BYTES:
            self.transport.close()
        return not self.transport.is_closing()

    def _wait(self, seconds: float = HEADER_SECONDS) -> None:
        self._release_waiting_place()
        self._due, self._idle = self.loop.call_later(seconds, self.transport.close), False
        self._silent.take(self, self._network)

    def _release_waiting_place(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
        self._silent.leave(self)
