"""Counts deliveries by sender and outcome, as Prometheus reads them."""

from __future__ import annotations

from collections import Counter

#: Outcome of a delivery whose row is stored.
STORED = "stored"
_HELP = (
    "# HELP tidegate_webhook_requests_total Requests by sender and outcome: stored, challenge, or why it was refused.\n"
    "# TYPE tidegate_webhook_requests_total counter\n"
)
_SECONDS = (
    "# HELP tidegate_webhook_stored_seconds Seconds from the headers of a delivery to the answer of SQS.\n"
    "# TYPE tidegate_webhook_stored_seconds summary\n"
)
_UNDER_WAY_HELP = (
    "# HELP tidegate_webhook_under_way Deliveries that are not answered yet.\n# TYPE tidegate_webhook_under_way gauge\n"
)


class Tallies:
    """The counters of one process."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str]] = Counter()
        self._seconds: Counter[str] = Counter()

    def count(self, sender: str, outcome: str, seconds: float) -> None:
        """Count a request.

        Args:
            sender: its name; empty for an address that nobody has.
            outcome: `STORED`, or another word.
            seconds: how long it took.
        """
        self.requests[sender, outcome] += 1
        if outcome == STORED:
            self._seconds[sender] += seconds  # type: ignore[assignment]

    def text(self, under_way: int) -> str:
        """Return all counters in the text format of Prometheus.

        Args:
            under_way: number of deliveries that are not answered yet.
        """
        lines = [
            f'tidegate_webhook_requests_total{{sender="{sender}",outcome="{outcome}"}} {number}\n'
            for (sender, outcome), number in sorted(self.requests.items())
        ]
        times = [
            f'tidegate_webhook_stored_seconds_sum{{sender="{sender}"}} {seconds:.6f}\n'
            f'tidegate_webhook_stored_seconds_count{{sender="{sender}"}} {self.requests[sender, STORED]}\n'
            for sender, seconds in sorted(self._seconds.items())
        ]
        return "".join([_HELP, *lines, _SECONDS, *times, _UNDER_WAY_HELP, f"tidegate_webhook_under_way {under_way}\n"])
