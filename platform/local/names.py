"""The SQL names of a lake's tables, which a Spark server forgets when it ends."""

from __future__ import annotations

import logging

from tidegate.resources.settings import Settings

_log = logging.getLogger(__name__)


def name_tables(settings: Settings) -> None:
    """Give every table of the lake its SQL names on a server that has just started.

    A table that cannot be named is logged: it keeps neither the others nor the server waiting. A lake without tables
    asks nothing of the server.
    """
    with settings.opened() as lake:
        if not lake.store.births.tables():
            return
        for unnamed in lake.name_tables():
            _log.warning("%s", unnamed)
