"""How many deliveries a sender may make."""

from __future__ import annotations

#: Seconds of the rate that may come at once after a quiet time, because webhooks come in bursts.
_BURST_SECONDS = 10.0


class RateLimit:
    """A bucket of permits, which fills steadily.

    Args:
        rate: permits per second.
        now: seconds of any steady clock.
    """

    def __init__(self, rate: float, now: float) -> None:
        self._rate, self._size = rate, max(1.0, rate * _BURST_SECONDS)
        self._left, self._at = self._size, now

    def take(self, now: float) -> float:
        """Take a permit. Returns 0, or the seconds until there is one; then none was taken."""
        self._left = min(self._size, self._left + max(0.0, now - self._at) * self._rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self._rate
