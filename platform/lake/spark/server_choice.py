"""The server of several that a table has: the first in the order of the table that answers.

Any server may work on any table at any time, because commits are conditional. The order only lets a table keep the
server that knows its log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from tidegate.platform.core.spark_address import order_servers
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.session import probe

_log = logging.getLogger(__name__)

#: Seconds for an answer of a server that has others next to it. A machine that is gone answers nothing at all.
_ANSWERS_WITHIN = 2.0
#: Seconds for which a server that did not answer is asked after all others.
_SILENCE_SECONDS = 30.0
#: Until when servers are asked last, by `time.monotonic`. All handles of this process share it.
_silent: dict[str, float] = {}


class ServerChoice:
    """The server that one handle on a lake uses.

    Args:
        servers: all servers of the lake, as they are listed.
        table: the key of the table that the handle is for. Empty for other work, which takes the first server.
    """

    def __init__(self, servers: Sequence[SparkRemote], table: str = "") -> None:
        self._servers = {str(server): server for server in servers}
        self._table = table
        self._found: SparkRemote | None = None

    @property
    def is_always_there(self) -> bool:
        """True: somebody else keeps the servers running."""
        return True

    def obtain(self) -> SparkRemote:
        """Return the first server that answers. It is that of the handle until `release`, also if it is lost.

        Raises:
            SparkUnreachable: none answers. The message has the reason of each.
        """
        if self._found is None:
            self._found = self._find_answering()
        return self._found

    def find(self) -> list[SparkRemote]:
        """Return all servers, whether they answer or not."""
        return list(self._servers.values())

    def server_of(self, table: str) -> str:
        """Return the server that a table has while all answer."""
        return order_servers(table, self._servers)[0]

    def release(self) -> None:
        """Let the next session choose again."""
        self._found = None

    def describe(self) -> str:
        """Return nothing: they are always there."""
        return ""

    def _find_answering(self) -> SparkRemote:
        order, now = order_servers(self._table, self._servers), time.monotonic()
        troubles = []
        for name in sorted(order, key=lambda name: _silent.get(name, 0.0) > now):
            try:
                probe(self._servers[name], _ANSWERS_WITHIN)
            except SparkUnreachable as error:
                _silent[name] = time.monotonic() + _SILENCE_SECONDS
                troubles.append(str(error))
                continue
            _silent.pop(name, None)
            if name != order[0]:
                _log.warning(
                    "%s has the work of %s for now: %s", name, order[0], "; ".join(troubles) or "it was silent just now"
                )
            return self._servers[name]
        raise SparkUnreachable("\n".join([f"none of the {len(order)} Spark servers of the lake answers:", *troubles]))
