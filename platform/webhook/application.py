"""The addresses of the server: one for each sender, and those for its operation. Bodies and senders are bounded."""

from __future__ import annotations

import asyncio
import json
import math
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tidegate.platform.core.config.webhook import WebhookSpec
from tidegate.platform.core.webhook.delivery import delivery_of
from tidegate.platform.core.webhook.refusal import Reason, Refusal
from tidegate.platform.core.webhook.scheme import Received, Scheme
from tidegate.platform.webhook.connection_limits import Unverified
from tidegate.platform.webhook.queue_writer import QueueWriter
from tidegate.platform.webhook.webhook_metrics import STORED, Tallies

#: Bytes of bodies in memory, and the number of requests under way that they allow.
_MAX_HELD_BYTES = 256 << 20
_MAX_REQUESTS = 1000
_PROBLEM = "application/problem+json"
#: The connection is closed after these answers, because a part of the body may still be coming.
_UNREAD = frozenset({Reason.UNKNOWN_SENDER, Reason.UNSIGNED, Reason.SLOW_BODY, Reason.TOO_LARGE, Reason.BUSY})

#: Seconds of the rate that may come at once after a quiet time, because webhooks come in bursts.
_BURST_SECONDS = 10.0

#: Seconds from the headers to the end of a body.
MAX_SECONDS = 10.0
#: Bytes beyond the limit that are read and dropped, so that a sender that is not far above it reads the answer before
#: its connection is closed.
_DROPPED = 1 << 20


class RateLimit:
    """A bucket of permits, which fills steadily.

    Args:
        rate: permits per second.
        now: seconds of any steady clock.
    """

    def __init__(self, rate: float, now: float) -> None:
        self._rate, self._size = rate, max(1.0, rate * _BURST_SECONDS)
        self._left, self._at = self._size, now

    def take(self, now: float) -> float:
        """Take a permit. Returns 0, or the seconds until there is one; then none was taken."""
        self._left = min(self._size, self._left + max(0.0, now - self._at) * self._rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self._rate


@dataclass(frozen=True)
class Sender:
    """A sender of webhooks.

    Attributes:
        spec: its entry in `lake.yaml`.
        scheme: how it signs.
        secrets: returns all that are valid now.
        writer: the way to its queue.
        limit: its rate.
    """

    spec: WebhookSpec
    scheme: Scheme
    secrets: Callable[[], tuple[str, ...]] = field(repr=False)
    writer: QueueWriter
    limit: RateLimit


class Application:
    """Answers requests.

    Args:
        senders: by name.
        unready: returns what is wrong with the queues; empty if nothing is.
        say: takes the lines of the log.
        body_seconds: time for a body.
    """

    def __init__(
        self,
        senders: Mapping[str, Sender],
        unready: Callable[[], Awaitable[str]],
        say: Callable[[str], None],
        body_seconds: float = MAX_SECONDS,
    ) -> None:
        self._senders, self._unready, self._say, self._body_seconds = senders, unready, say, body_seconds
        largest = max((sender.spec.max_bytes for sender in senders.values()), default=1)
        # One half is for bodies that are being read, which needs no secret, and one for rows on their way to a queue.
        half = max(1, min(_MAX_REQUESTS, _MAX_HELD_BYTES // largest) // 2)
        self._unverified, self._max_verified = Unverified(half), half
        self._under_way = self._verified = 0
        self.tallies = Tallies()

    def public(self) -> Starlette:
        """Return what senders reach."""
        return _starlette(
            Route("/healthz", self._healthz),
            Route("/{sender}", self._deliver, methods=["POST"]),
        )

    def operations(self) -> Starlette:
        """Return what only the operators of the server reach. It names queues and senders."""
        return _starlette(
            Route("/healthz", self._healthz),
            Route("/readyz", self._readyz),
            Route("/metrics", self._metrics),
        )

    async def _healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def _readyz(self, _: Request) -> Response:
        if wrong := await self._unready():
            refusal = Refusal(Reason.UNAVAILABLE, wrong, 5)
            return _problem(refusal)
        return JSONResponse({"status": "ready"})

    async def _metrics(self, _: Request) -> Response:
        return PlainTextResponse(self.tallies.text(self._under_way), media_type="text/plain; version=0.0.4")

    async def _deliver(self, request: Request) -> Response:
        begun = time.monotonic()
        sender = self._senders.get(request.path_params["sender"])
        self._under_way += 1
        row, outcome, status, failed = "", "error", 500, ""
        try:
            response, outcome, row = await self._answer(request, sender)
            status = response.status_code
        except Refusal as refusal:
            response, outcome, status = _problem(refusal), refusal.reason.label, refusal.reason.status
        except ClientDisconnect:
            response, outcome, status = Response(status_code=400), "gone", 400
        except Exception as error:
            # Its text may contain a part of the body, so only its kind and place are written down.
            response, failed = Response(status_code=500), _place_of(error)
        finally:
            # Whatever it is, also the end of the server, it leaves a line and a count.
            self._under_way -= 1
            seconds = time.monotonic() - begun
            name = sender.spec.name if sender else ""
            self.tallies.count(name, outcome, seconds)
            # A path that nobody has is not written down: a secret may be in it. A query never is.
            line = {"sender": name, "status": status, "outcome": outcome, "ms": round(seconds * 1000, 1)}
            self._say(json.dumps({**line, **({"row": row} if row else {}), **({"error": failed} if failed else {})}))
        return response

    async def _answer(self, request: Request, sender: Sender | None) -> tuple[Response, str, str]:
        """Return the answer to a delivery, its outcome, and the id of its row if it has one.

        Raises:
            Refusal: the delivery is not accepted.
            ClientDisconnect: the sender closed the connection.
        """
        if sender is None:
            raise Refusal(Reason.UNKNOWN_SENDER, "`webhooks` of lake.yaml has no sender with this address")
        spec = sender.spec
        unread = Received(request.headers, b"", time.time())
        for header in sender.scheme.headers:
            unread.header(header)
        length = request.headers.get("content-length")
        async with self._unverified.hold_place(request.client.host if request.client else ""):
            body = await request_body(request.stream(), length, spec.max_bytes, self._body_seconds)
        received = Received(request.headers, body, time.time())
        delivery = delivery_of(sender.scheme, spec.name, received, sender.secrets(), spec.retry_days)
        if wait := sender.limit.take(time.monotonic()):
            raise Refusal(Reason.TOO_MANY, f"more than {spec.rate:g} deliveries a second", math.ceil(wait))
        if delivery.challenge is not None:
            return PlainTextResponse(delivery.challenge), "challenge", ""
        if self._verified >= self._max_verified:
            raise Refusal(Reason.BUSY, f"{self._max_verified} rows are on their way to queues; send it again", 1)
        self._verified += 1
        try:
            await sender.writer.put(delivery.text, delivery.origin)
        finally:
            self._verified -= 1
        return JSONResponse({"row": delivery.origin.message_id}), STORED, delivery.origin.message_id


def _starlette(*routes: Route) -> Starlette:
    application = Starlette(routes=routes, exception_handlers={HTTPException: _http_problem})
    # A redirect would be built from the request's own header Host.
    application.router.redirect_slashes = False
    return application


def _place_of(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"


def _problem(refusal: Refusal) -> Response:
    headers = {} if refusal.retry_after is None else {"retry-after": str(refusal.retry_after)}
    if refusal.reason in _UNREAD:
        headers["connection"] = "close"
    return JSONResponse(refusal.problem(), refusal.reason.status, headers, _PROBLEM)


async def _http_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = "webhooks are sent by POST to /<sender>" if error.status_code == 405 else "nothing has this address"
    content = {"type": "about:blank", "title": error.detail, "status": error.status_code, "detail": detail}
    headers = {**(error.headers or {}), "connection": "close"}
    return JSONResponse(content, error.status_code, headers, _PROBLEM)


async def request_body(
    chunks: AsyncIterator[bytes], length: str | None, limit: int, seconds: float = MAX_SECONDS
) -> bytes:
    """Return the body.

    Args:
        chunks: its parts as they come.
        length: the header Content-Length, if there is one.
        limit: maximum number of bytes.
        seconds: time for all of it.

    Raises:
        Refusal: it is too large, or came too slowly.
    """
    too_large = Refusal(Reason.TOO_LARGE, f"the body has more than {limit} bytes, the limit of this webhook")
    if length and length.isdigit() and (len(length) > 15 or int(length) > limit + _DROPPED):
        raise too_large
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in chunks:
                size += len(chunk)
                if size > limit + _DROPPED:
                    raise too_large
                if size <= limit:
                    parts.append(chunk)
                else:
                    parts.clear()
    except TimeoutError:
        raise Refusal(Reason.SLOW_BODY, f"the body did not arrive within {seconds:g} s") from None
    if size > limit:
        raise too_large
    return b"".join(parts)
