"""Requests whose signature is not verified yet. They are bounded apart from those that are."""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidegate.platform.core.webhook.refusal import Reason, Refusal


class Unverified:
    """The requests whose bodies are being read, by the address of the client.

    Nobody needs a secret for such a request. So if there are too many, the oldest one of the address that has most of
    them gives up its place: a client that sends slowly from one address takes no place of another.

    Args:
        limit: how many there may be.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: dict[asyncio.Timeout, str] = {}

    @asynccontextmanager
    async def reading(self, address: str) -> AsyncIterator[None]:
        """Hold a place while a body is read.

        Args:
            address: of the client.

        Raises:
            Refusal: the place was given to another request.
        """
        if len(self._held) >= self._limit:
            self._drop()
        try:
            async with asyncio.timeout(None) as place:
                self._held[place] = network_of(address)
                try:
                    yield
                finally:
                    self._held.pop(place, None)
        except TimeoutError:
            raise Refusal(Reason.BUSY, "too many bodies are under way; send it again at once", 1) from None

    def _drop(self) -> None:
        ((most, _),) = Counter(self._held.values()).most_common(1)
        oldest = next(place for place, address in self._held.items() if address == most)
        del self._held[oldest]
        oldest.reschedule(asyncio.get_running_loop().time())


def network_of(address: str) -> str:
    """Return what one client can choose no other address of: an address of IPv4, or a /64 network of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(found) if found.version == 4 else str(ipaddress.ip_network((found, 64), strict=False))
