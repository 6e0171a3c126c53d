"""The event types of the demo's company: twenty services, each with up to ten kinds of events.

Ten services keep to the fields that were agreed. Two send so much that nobody wants a table of it, but fewer files.
Four agreed to fields and drift: they add some, and sometimes change the type of one. Four never agreed to anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

AGREED = (
    "orders", "payments", "customers", "carts", "catalog", "prices", "reviews", "emails", "coupons", "stores",
)  # fmt: skip
BULKY = ("search", "sessions")
DRIFTING = ("shipping", "returns", "stock", "invoices")
OPEN = ("partners", "devices", "surveys", "support")
ACTIONS = (
    "created", "updated", "confirmed", "cancelled", "viewed", "failed", "exported", "merged", "archived", "restored",
)  # fmt: skip
MAX_TYPES = len(ACTIONS) * len((*AGREED, *BULKY, *DRIFTING, *OPEN))
#: One service of each contract, and those whose events a subscriber of the demo takes. A demo of fewer types than
#: services has these: each other service would be one more table that shows nothing new.
FIRST = ("orders", "payments", "search", "invoices", "partners")
MIN_TYPES = len(FIRST)


class Contract(StrEnum):
    """What a service promises about the fields of its events."""

    AGREED = "agreed"
    BULKY = "bulky"
    DRIFTING = "drifting"
    OPEN = "open"


@dataclass(frozen=True)
class EventType:
    """An event type.

    Attributes:
        service: the service that sends it.
        action: what happened.
        contract: what the service promises.
    """

    service: str
    action: str
    contract: Contract

    @property
    def name(self) -> str:
        """Its name, such as `orders.created`."""
        return f"{self.service}.{self.action}"

    @property
    def folder(self) -> str:
        """The folder of its objects. A service that drifts is where it agreed to be."""
        shelf = "agreed" if self.contract is Contract.DRIFTING else self.contract
        return f"events/{shelf}/{self.service}/{self.action}/"


def event_types(number: int) -> list[EventType]:
    """Return some event types: the first kind of each service, then the second, and so on.

    If they are fewer than services, those of `FIRST` are among them.

    Raises:
        ValueError: there are not so many, or some contract or subscriber would have none.
    """
    if not MIN_TYPES <= number <= MAX_TYPES:
        raise ValueError(f"{number} event types: choose {MIN_TYPES} to {MAX_TYPES}")
    services = [
        *((service, Contract.AGREED) for service in AGREED),
        *((service, Contract.BULKY) for service in BULKY),
        *((service, Contract.DRIFTING) for service in DRIFTING),
        *((service, Contract.OPEN) for service in OPEN),
    ]
    if number < len(services):
        services.sort(key=lambda service: service[0] not in FIRST)
    every = [EventType(service, action, contract) for action in ACTIONS for service, contract in services]
    return every[:number]
