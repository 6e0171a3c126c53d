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
from tidegate.platform.lake.spark.server_errors import SparkSilent, SparkUnreachable, TokenRefused
from tidegate.platform.lake.spark.session import probe

_log = logging.getLogger(__name__)

#: Seconds for an answer of a server that has others next to it. A machine that is gone answers nothing at all.
_ANSWERS_WITHIN = 2.0
#: Seconds for it if none of the others answers either.
_BUSY_ANSWERS_WITHIN = 5.0
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
        _ = self._servers[order[0]].url  # All have one token. If it cannot be read, no server is at fault.
        troubles: dict[str, SparkUnreachable] = {}
        for name in sorted(order, key=lambda name: _silent.get(name, 0.0) > now):
            if self._answers(name, troubles, _ANSWERS_WITHIN):
                if troubles and name != order[0]:
                    reasons = "; ".join(map(str, troubles.values()))
                    _log.warning("%s has the work of %s for now: %s", name, order[0], reasons)
                return self._servers[name]
        for name in order:
            # A server that is busy, as all may be at once, has the time that a lake's only server has.
            if isinstance(troubles[name], SparkSilent) and self._answers(name, troubles, _BUSY_ANSWERS_WITHIN):
                return self._servers[name]
        first = f"none of the {len(order)} Spark servers of lake.yaml can be used:"
        raise SparkUnreachable("\n".join([first, *(str(troubles[name]) for name in order)]))

    def _answers(self, name: str, troubles: dict[str, SparkUnreachable], seconds: float) -> bool:
        """Return whether a server answers. Otherwise note why, and ask it after all others for a while."""
        try:
            probe(self._servers[name], seconds)
        except SparkUnreachable as error:
            troubles[name] = error
            if not isinstance(error, TokenRefused):  # which costs no time, and may be true of one lake alone
                _silent[name] = time.monotonic() + _SILENCE_SECONDS
            return False
        _silent.pop(name, None)
        return True
