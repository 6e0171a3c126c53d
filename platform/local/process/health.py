"""Shows an orchestrator by HTTP whether a Spark Connect server answers, and whether its tables have their SQL names."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.process.process import RunningServer

#: Seconds without an answer after which the server is not alive any more. A long collection of garbage is shorter.
_DEAD_SECONDS = 120.0
#: Connections at a time. A probe needs one for milliseconds.
MAX_CONNECTIONS = 16


class ServerHealth:
    """What is known of a server. All methods may be called by any thread."""

    def __init__(self) -> None:
        self._answered: float | None = None
        self._trouble = "the server is starting"

    def note_answer(self) -> None:
        """Note that the server has answered."""
        self._answered, self._trouble = time.monotonic(), ""

    def note_trouble(self, why: str) -> None:
        """Note why the server takes no work now."""
        self._trouble = why

    def readiness(self) -> str:
        """Return why the server takes no work; empty if it does."""
        return self._trouble

    def liveness(self) -> str:
        """Return why the server should be started again; empty if it should not."""
        if self._answered is None:
            return ""  # A start has a deadline of its own.
        silent = time.monotonic() - self._answered
        return f"no answer for {silent:.0f} s: {self._trouble}" if silent > _DEAD_SECONDS else ""


class _BoundedServer(ThreadingHTTPServer):
    """Has a thread for each of a few connections. One more ends the oldest, so that no client keeps a probe out."""

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: deque[socket.socket] = deque()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if len(self._open) >= MAX_CONNECTIONS:
            with suppress(IndexError, OSError):
                self._open.popleft().shutdown(socket.SHUT_RDWR)
        self._open.append(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with suppress(ValueError):  # it was ended for a newer one
                self._open.remove(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: the client went away, or was ended."""


class HealthPages(RunningServer):
    """Answers `/readyz` and `/livez` with 200 or 503 and one line.

    Args:
        health: what the pages say.
        host: address to listen on.
        port: port to listen on, 0 for a free one.

    Raises:
        UnavailableError: the port is in use.
    """

    def __init__(self, health: ServerHealth, host: str, port: int) -> None:
        pages = {"/readyz": health.readiness, "/livez": health.liveness}

        class Handler(BaseHTTPRequestHandler):
            timeout = 10.0  # of a client that sends nothing

            def do_GET(self) -> None:
                ask = pages.get(self.path)
                why = ask() if ask else "there are /readyz and /livez"
                body = f"{why or 'ok'}\n".encode()
                self.send_response(404 if ask is None else 503 if why else 200)
                self.send_header("Content-Type", "text/plain; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: a probe comes each few seconds."""

        try:
            self._server = _BoundedServer((host, port), Handler)
        except OSError as error:
            raise UnavailableError(
                f"port {port} (health) is in use ({error.strerror}): choose another with --health-port, "
                "or stop the process that listens on it"
            ) from None
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()
