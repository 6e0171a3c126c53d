"""Requests whose signature is not verified yet. They are bounded apart from those that are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidegate.platform.core.webhook.refusal import Reason, Refusal
from tidegate.platform.webhook.places import Places, client_network


class Unverified:
    """The requests whose bodies are being read, by the address of the client.

    Nobody needs a secret for such a request. So if there are too many, the oldest one of the address that has most of
    them gives up its place: a client that sends slowly from one address takes no place of another.

    Args:
        limit: how many there may be.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = Places[asyncio.Timeout]()

    @asynccontextmanager
    async def reading(self, address: str) -> AsyncIterator[None]:
        """Hold a place while a body is read.

        Args:
            address: of the client.

        Raises:
            Refusal: the place was given to another request.
        """
        if len(self._held) >= self._limit and (oldest := self._held.drop()):
            oldest.reschedule(asyncio.get_running_loop().time())
        try:
            async with asyncio.timeout(None) as place:
                self._held.take(place, client_network(address))
                try:
                    yield
                finally:
                    self._held.leave(place)
        except TimeoutError:
            raise Refusal(Reason.BUSY, "too many bodies are under way; send it again at once", 1) from None
