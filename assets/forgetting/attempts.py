"""Commits that lose to another writer's commit are tried again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from pyspark.errors import PySparkException

from tidegate.assets.silver.merge import is_overtaken

_MAX_ATTEMPTS = 6
_T = TypeVar("_T")


def repeated(call: Callable[[], _T], log: Callable[[str], None]) -> _T:
    """Call a function, and again if another writer's commit came first. Returns its result.

    Raises:
        PySparkException: other writers won every attempt, or Spark failed.
    """
    for attempt in range(_MAX_ATTEMPTS - 1):
        try:
            return call()
        except PySparkException as error:
            if not is_overtaken(error):
                raise
            log("another commit came first, trying again")
            time.sleep(0.1 * 2**attempt)
    return call()
