"""Commits that lose to another writer's commit are tried again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from pyspark.errors import PySparkException

MAX_ATTEMPTS = 6
_T = TypeVar("_T")


#: Prefixes of the error conditions, Delta's and ours, of a commit that lost to another writer's commit.
_OVERTAKEN = ("DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "TIDEGATE_BUSY")


def repeat_call(call: Callable[[], _T], lost: Callable[[PySparkException], None]) -> _T:
    """Call a function, and again if another writer's commit came first. Returns its result.

    Args:
        call: starts from the present state of its tables.
        lost: called with the error of an attempt that another writer won, before the next attempt.

    Raises:
        PySparkException: other writers won `MAX_ATTEMPTS` times, or Spark failed for another reason.
    """
    for attempt in range(1, MAX_ATTEMPTS):
        try:
            return call()
        except PySparkException as error:
            if not (error.getCondition() or "").startswith(_OVERTAKEN):
                raise
            lost(error)
            time.sleep(0.1 * 2**attempt)
    return call()
