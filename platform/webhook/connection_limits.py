"""Places of a server that strangers take, by the network that they come from: connections, and unverified requests."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from tidegate.platform.core.webhook.refusal import Reason, Refusal

_Holder = TypeVar("_Holder")


class Places(Generic[_Holder]):
    """Who holds a place. If there are too many, the oldest holder of the network that has most of them should leave.

    So a client of one network takes no place of another. No number for each network has to be chosen, which would be
    wrong behind a proxy.
    """

    def __init__(self) -> None:
        self._networks: dict[str, dict[_Holder, None]] = {}
        self._of: dict[_Holder, str] = {}

    def __len__(self) -> int:
        """Return the number of holders."""
        return len(self._of)

    def take(self, holder: _Holder, network: str) -> None:
        """Hold a place from now on."""
        self._of[holder] = network
        self._networks.setdefault(network, {})[holder] = None

    def leave(self, holder: _Holder) -> None:
        """Hold no place any more. Nothing happens if it holds none."""
        network = self._of.pop(holder, None)
        if network is not None:
            del self._networks[network][holder]
            if not self._networks[network]:
                del self._networks[network]

    def drop(self) -> _Holder | None:
        """Take the place of the holder that should leave. Returns None if there is no holder."""
        if not self._of:
            return None
        network = max(self._networks, key=lambda network: len(self._networks[network]))
        holder = next(iter(self._networks[network]))
        self.leave(holder)
        return holder


def client_network(address: str) -> str:
    """Return what one client can choose no other address of: an address of IPv4, or a /64 network of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(found) if found.version == 4 else str(ipaddress.ip_network((found, 64), strict=False))


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
    async def hold_place(self, address: str) -> AsyncIterator[None]:
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
