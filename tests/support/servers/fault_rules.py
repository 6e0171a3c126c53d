"""The rules of a `FaultProxy`."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable


class Rule:
    """One rule of a `FaultProxy`: which requests it catches, how many, and what happens to them.

    Attributes:
        requests: "METHOD path" of each request it has caught, in order.
        forwarded: the upstream's status for each caught request that was forwarded.
    """

    def __init__(self, method: str, path: str, times: int | None) -> None:
        self.requests: list[str] = []
        self.forwarded: list[int] = []
        self._method = method
        self._path = re.compile(path)
        self._left = times
        self._changed = threading.Condition()

    @property
    def count(self) -> int:
        """How many requests it has caught."""
        with self._changed:
            return len(self.requests)

    def wait_caught(self, deadline: float, count: int = 1) -> None:
        """Wait until `count` requests have been caught.

        Args:
            deadline: seconds.
            count: number of requests.

        Raises:
            TimeoutError: fewer were caught at the deadline.
        """
        self._wait(lambda: len(self.requests) >= count, deadline, f"{count} requests")

    def wait_forwarded(self, deadline: float, count: int = 1) -> None:
        """Wait until the upstream has answered `count` caught requests. The arguments are those of `wait_caught`."""
        self._wait(lambda: len(self.forwarded) >= count, deadline, f"{count} answers")

    def _wait(self, met: Callable[[], bool], deadline: float, what: str) -> None:
        with self._changed:
            if not self._changed.wait_for(met, deadline):
                raise TimeoutError(
                    f"no {what} of {self._method} {self._path.pattern} within {deadline:g} s: "
                    f"{self.requests} {self.forwarded}"
                )

    def catches(self, method: str, path: str) -> bool:
        """Return whether the rule catches this request. If so, it counts it."""
        with self._changed:
            if self._left == 0 or not re.fullmatch(self._method, method) or not self._path.search(path):
                return False
            if self._left is not None:
                self._left -= 1
            self.requests.append(f"{method} {path}")
            self._changed.notify_all()
            return True

    def answered(self, status: int) -> None:
        """Record that the upstream has answered a caught request."""
        with self._changed:
            self.forwarded.append(status)
            self._changed.notify_all()

    def before(self) -> None:
        """Act on a request after the request's body is read, before it is forwarded."""

    def reply(self) -> tuple[int, bytes] | None:
        """Return a status and body to answer instead of forwarding."""
        return None

    def cuts(self) -> bool:
        """Return whether the connection is closed instead of forwarding."""
        return False

    def drops(self) -> bool:
        """Return whether the upstream's answer is thrown away."""
        return False


class Hold(Rule):
    """Keeps requests in flight until `release`. Then they are forwarded even if the client has disconnected."""

    def __init__(self, method: str, path: str, times: int | None) -> None:
        super().__init__(method, path, times)
        self._released = threading.Event()

    def release(self) -> None:
        """Release held requests, now and from now on."""
        self._released.set()

    def before(self) -> None:
        """Wait for `release`."""
        self._released.wait()


class Cut(Rule):
    """Closes the connection. The upstream does not receive the request."""

    def cuts(self) -> bool:
        """Return true: it always cuts."""
        return True


class Drop(Rule):
    """Forwards requests and throws the answers away."""

    def drops(self) -> bool:
        """Return true: it always drops."""
        return True


class Status(Rule):
    """Answers requests without forwarding them."""

    def __init__(self, method: str, path: str, times: int | None, status: int, body: bytes) -> None:
        super().__init__(method, path, times)
        self._reply = status, body

    def reply(self) -> tuple[int, bytes] | None:
        """Return its status and body."""
        return self._reply
