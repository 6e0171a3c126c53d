"""Redrive of routes: messages that their destination did not take are sent again, after the cause was fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegate.platform.core.failpoints import seam
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.outbox import Undeliverable
from tidegate.platform.operations.redrive import Choice, RedriveRequest

#: Messages that are moved at a time. Each has up to a megabyte.
_AT_ONCE = 20


def undeliverable_messages(lake: Lake, route: str, choice: Choice) -> list[Undeliverable]:
    """Return the chosen messages in the quarantine of a route, without their bodies."""
    return [
        replace(kept, message=replace(kept.message, body=""))
        for kept in lake.store.outbox.undeliverable(route)
        if choice.includes(kept.message.id, kept.reason, kept.at)
    ]


def redrive_route(lake: Lake, route: str, found: Sequence[Undeliverable], request: RedriveRequest) -> str:
    """Move quarantined messages of a route to its outbox. Returns the address of the entry in the operations log.

    A message leaves the quarantine after it is in the outbox, from which the sensor `forward` sends it. A message that
    a queue did not take goes only to that queue.

    Args:
        lake: the lake.
        route: name of the route.
        found: the messages.
        request: what was asked for.
    """
    address = lake.store.operations.put(
        "redrive-route",
        request.by,
        route=route,
        choice=request.choice.plain(),
        messages=[kept.key for kept in found],
    )
    seam("redrive-log")
    for start in range(0, len(found), _AT_ONCE):
        some = found[start : start + _AT_ONCE]
        lake.store.outbox.send_again(route, some)
        request.log(f"{start + len(some)} of {len(found)} messages of {route} are in the outbox")
        if start + len(some) < len(found):
            request.sleep(len(some) / request.rate)
    return address
