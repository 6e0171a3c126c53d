"""One tick of the forwarding: each lane of the outbox is served, unless it rests after a failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.outbox import Lane
from tidegate.platform.lake.threads import ConcurrentCalls
from tidegate.platform.routes.lane import LaneResult, deliver_lane, deliver_to_tagged, spread_lane

#: Lanes that are served at a time.
_LANES_IN_PARALLEL = 64
#: Seconds for which a lane is served, and for which the tick waits for its lanes. Dagster ends a tick after 60.
SERVE_SECONDS, WAIT_SECONDS = 20.0, 40.0
#: Seconds that a lane rests after its first failure in a row, and at most.
_FIRST_REST, _MAX_REST = 5.0, 300.0


@dataclass
class _Rest:
    failures: int
    until: float
    error: str


class Forwarder:
    """Serves the lanes, and remembers which of them rest.

    It is not in the sensor's cursor, because a new process should try each destination again.

    Args:
        clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rests: dict[Lane, _Rest] = {}
        self._running: set[Lane] = set()
        self._lock = threading.Lock()

    def tick(self, lake: Lake, lanes: Sequence[Lane]) -> list[LaneResult]:
        """Serve lanes in parallel. Returns the results of those that ended, and of those that cannot be served.

        A lane that has not ended continues by itself, and is not served twice at a time.

        Args:
            lanes: the lanes in which something waits.
        """
        for gone in self._rests.keys() - set(lanes):
            del self._rests[gone]
        due = [lane for lane in lanes if self._begin(lane)]
        calls = ConcurrentCalls(lambda lane: self._serve(lake, lane, lanes), due, _LANES_IN_PARALLEL)
        calls.wait(WAIT_SECONDS)
        results = []
        for outcome in calls.outcomes():
            if not outcome.begun:
                self._end(outcome.item)
                continue
            late = TimeoutError(f"it has not ended after {WAIT_SECONDS:.0f} seconds")
            result = outcome.value or LaneResult(outcome.item, error=outcome.error or late)
            self._note(result)
            results.append(result)
        return results

    def errors(self) -> dict[Lane, str]:
        """Return the error of each lane whose last delivery failed, as one line."""
        return {lane: rest.error for lane, rest in self._rests.items()}

    def _serve(self, lake: Lake, lane: Lane, lanes: Sequence[Lane]) -> LaneResult:
        try:
            return _serve(lake, lane, {other.queue for other in lanes if other.route == lane.route and other.queue})
        finally:
            self._end(lane)

    def _begin(self, lane: Lane) -> bool:
        with self._lock:
            rest = self._rests.get(lane)
            if lane in self._running or (rest and self._clock() < rest.until):
                return False
            self._running.add(lane)
            return True

    def _end(self, lane: Lane) -> None:
        with self._lock:
            self._running.discard(lane)

    def _note(self, result: LaneResult) -> None:
        if result.error is None:
            self._rests.pop(result.lane, None)
            return
        before = self._rests.get(result.lane)
        # A lane that gets on although some messages are refused does not rest for longer and longer.
        failures = before.failures + 1 if before and not result.sent else 1
        seconds = min(_MAX_REST, _FIRST_REST * 2 ** min(failures - 1, 10))
        self._rests[result.lane] = _Rest(failures, self._clock() + seconds, first_line(result.error))


def _serve(lake: Lake, lane: Lane, behind: set[str]) -> LaneResult:
    route = lake.config.route(lane.route)
    if route is None or lake.destinations is None:
        why = f"messages wait for the route {lane.route!r}, which is not in lake.yaml; add it again to send them"
        return LaneResult(lane, error=LookupError(why))
    until = time.monotonic() + SERVE_SECONDS
    if not route.queues_tagged:
        return deliver_lane(lake.store.outbox, lane, lake.destinations.find(route), until)
    if lane.queue:
        return deliver_to_tagged(lake.store.outbox, lane, route, lake.destinations, until)
    return spread_lane(lake.store.outbox, route, lake.destinations, behind, until)
