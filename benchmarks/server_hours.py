"""How many hours of a day a Spark server runs that is only there for work. This is arithmetic: nothing is started."""

from __future__ import annotations

from collections.abc import Iterable


def server_hours(arrivals: Iterable[float], *, window: float, idle: float, work: float) -> float:
    """Return the hours for which the server of one table runs.

    Args:
        arrivals: seconds at which files arrive.
        window: seconds for which the first file of a run waits for others.
        idle: seconds without a client after which the server ends.
        work: seconds of a run, with the start of the server.
    """
    hours, ends, free = 0.0, 0.0, 0.0
    taken_until = float("-inf")
    for arrival in sorted(arrivals):
        if arrival <= taken_until:
            continue  # The run takes this file, too.
        taken_until = max(arrival + window, free)
        free = taken_until + work
        hours += free + idle - max(ends, taken_until)
        ends = free + idle
    return hours / 3600
