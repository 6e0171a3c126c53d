"""What a route's page shows: what was sent, and what waits for which destination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from tidegate.assets.presentation.check_events import check_result
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.markdown import sentence
from tidegate.platform.core.wording import one_line
from tidegate.platform.lake.lake_root.outbox import Lane, Outbox

CHECK = "delivered"
#: Destinations of a route that its page shows, those with the oldest event first.
_MAX_SHOWN = 30


@dataclass(frozen=True)
class Waiting:
    """What waits for a destination.

    Attributes:
        destination: the name of the queue; empty if it is the route's only destination, or not known yet.
        messages: number of messages, at least.
        age: seconds since the oldest event was sent to the lake's queue.
        error: the error of the last delivery, as one line. Empty: none.
    """

    destination: str
    messages: int
    age: float
    error: str = ""


@dataclass(frozen=True)
class RouteState:
    """What waits for the destinations of a route.

    Attributes:
        waiting: the destinations for which something waits, the one with the oldest event first.
    """

    route: RouteSpec
    waiting: Sequence[Waiting] = field(default_factory=tuple)

    @property
    def messages(self) -> int:
        """Number of messages that wait, at least."""
        return sum(waiting.messages for waiting in self.waiting)

    @property
    def age(self) -> float:
        """Seconds since the oldest event was sent to the lake's queue; 0 if none waits."""
        return max((waiting.age for waiting in self.waiting), default=0.0)

    @property
    def behind(self) -> bool:
        """Whether an event waits for longer than the route's `max_lag`."""
        return self.age > self.route.max_lag

    def metadata(self, sent: int, undeliverable: int) -> dict[str, Any]:
        """Return the metadata of a materialization.

        Args:
            sent: messages that were sent since the last one.
            undeliverable: messages that were quarantined since the last one.
        """
        return {
            "sent": sent,
            "undeliverable": undeliverable,
            "waiting": self.messages,
            "oldest_seconds": round(self.age, 1),
            **({"destinations": self._table()} if self.waiting else {}),
        }

    def check(self, key: dg.AssetKey) -> dg.AssetCheckResult:
        """Return the result of the check `delivered`."""
        late = next((waiting for waiting in self.waiting if waiting.age > self.route.max_lag), None)
        description = None
        if late:
            destination = late.destination or self.route.topic or (self.route.queue.name if self.route.queue else "")
            why = late.error or "the sensor forward has not served it yet"
            description = sentence(
                "the oldest event for {} waits for {} s: {}", destination or "its queues", f"{late.age:.0f}", why
            )
        return check_result(
            asset_key=key,
            check_name=CHECK,
            passed=not self.behind,
            severity=dg.AssetCheckSeverity.WARN,
            metadata=self.metadata(0, 0) if self.waiting else {},
            description=description,
        )

    def _table(self) -> dg.TableMetadataValue:
        return dg.MetadataValue.table(
            [
                dg.TableRecord(
                    {
                        "destination": waiting.destination or "(the route)",
                        "messages": waiting.messages,
                        "oldest_seconds": round(waiting.age),
                        "error": waiting.error,
                    }
                )
                for waiting in self.waiting[:_MAX_SHOWN]
            ]
        )


def route_state(
    outbox: Outbox, route: RouteSpec, now: float, lanes: Sequence[Lane], errors: Mapping[Lane, str] | None = None
) -> RouteState:
    """Return what waits for the destinations of a route.

    Args:
        now: epoch seconds.
        lanes: the lanes of the route in which something may wait.
        errors: the errors of the last deliveries.
    """
    waiting = [
        Waiting(lane.queue, backlog.messages, backlog.age(now), one_line((errors or {}).get(lane, "")))
        for lane, backlog in outbox.backlogs(lanes).items()
    ]
    return RouteState(route, tuple(sorted(waiting, key=lambda found: -found.age)))
