"""HTTP connections whose headers are bounded in size and time. Uvicorn bounds neither."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Seconds from a connection, or the first byte of a further request, to the end of its headers.
HEADER_SECONDS = 10.0
_MAX_HEADER_BYTES = 65_536


class BoundedProtocol(HttpToolsProtocol):
    """A connection that is closed if a client says nothing, or too much."""

    _due: asyncio.TimerHandle | None = None
    _header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Wait for the end of the headers."""
        super().on_message_begin()
        self._header_bytes = 0
        self._wait()

    def on_url(self, url: bytes) -> None:
        """Count the bytes of the address."""
        super().on_url(url)
        self._bound(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the bytes of a header."""
        super().on_header(name, value)
        self._bound(len(name) + len(value))

    def on_headers_complete(self) -> None:
        """Wait no more, and begin the request unless the connection is being closed."""
        self._wait_no_more()
        if not self.transport.is_closing():
            super().on_headers_complete()

    def _bound(self, length: int) -> None:
        self._header_bytes += length
        if self._header_bytes > _MAX_HEADER_BYTES:
            self.transport.close()

    def _wait(self) -> None:
        self._wait_no_more()
        self._due = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
