"""SQL names of a lake's tables. A Spark server forgets them when it ends."""

from __future__ import annotations

import logging
from collections.abc import Callable

from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.sql_names import SqlNames

_log = logging.getLogger(__name__)


def name_tables(settings: Settings, say: Callable[[str], None] | None = None) -> None:
    """Give every table of the lake its SQL names on a server that has just started.

    A table that cannot be named is logged, and delays neither the others nor the server. A lake without tables sends no
    request to the server.

    Args:
        settings: the settings of the lake.
        say: takes a line with the number of tables, before they are named.
    """
    with settings.open_lake() as lake:
        tables = len(lake.store.births.tables())
        if not tables:
            return
        if say is not None:
            say(f"naming {tables} table{'s' if tables > 1 else ''} for SQL")
        for unnamed in SqlNames(lake).name_tables():
            _log.warning("%s", unnamed)
