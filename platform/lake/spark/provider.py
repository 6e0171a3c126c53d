"""Where the Spark server of a session comes from.

A server that is always there is a `SparkRemote`, and the one of several that a table has a `ServerChoice`. One that is
started for work is a `ServerOnDemand`, and one that a command of the user starts or names a `ServerByCommand`.
"""

from __future__ import annotations

from typing import Protocol

from tidegate.platform.lake.spark.remote import SparkRemote


class SparkProvider(Protocol):
    """Has the Spark server that a handle on a lake uses. Only `obtain` may start one."""

    @property
    def is_always_there(self) -> bool:
        """Whether the server runs without work too, so that triggers and checks may ask it."""

    def obtain(self) -> SparkRemote:
        """Return a server, which is there until `release`. It is started if that is what it takes.

        Raises:
            SparkUnreachable: it could not be started. The message says why.
        """

    def find(self) -> list[SparkRemote]:
        """Return the servers that there are, which are then there until `release`. None is started."""

    def server_of(self, table: str) -> str:
        """Return the server that a table has while all answer, as host and port. Empty unless there are several."""

    def release(self) -> None:
        """End the use of the server. May be called again."""

    def describe(self) -> str:
        """Return a sentence for people about the server now. Empty if it is always there."""
