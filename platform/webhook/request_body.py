"""Reads the body of a request within bounds of size and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from tidegate.platform.core.webhook.refusal import Reason, Refusal

#: Seconds from the headers to the end of a body.
MAX_SECONDS = 10.0
#: Bytes beyond the limit that are read and dropped, so that a sender that is not far above it reads the answer before
#: its connection is closed.
_DROPPED = 1 << 20


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
