"""Runs whose work cannot be divided, and the time that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any, ParamSpec, TypeVar, cast

import dagster as dg

#: Seconds after which such a run is ended. What it reads has to last for its time, and is kept for a day at least
#: (`SHORTEST` of maintenance). And a run that a daily schedule requests ends before the next one begins.
SECONDS = 20 * 3600

_P = ParamSpec("_P")
_R = TypeVar("_R")


def long_run(step: Callable[_P, _R]) -> Callable[_P, _R]:
    """Give the run of a step `SECONDS` instead of the time that the instance gives to each run.

    It is for a step that keeps nothing of its work if it is ended: the next run would begin with the same work, and
    would be ended, too. The step asks for the time itself, so it does not matter who started the run. It never
    shortens a run, and a person who gives a run Dagster's tag `dagster/max_runtime` decides.

    Args:
        step: the function of an asset or an op.
    """

    if isgeneratorfunction(step):
        # Dagster asks whether the function of a step is one that generates.
        @wraps(step)
        def generate(*given: _P.args, **named: _P.kwargs) -> Iterator[Any]:
            _lengthen()
            yield from step(*given, **named)

        return cast("Callable[_P, _R]", generate)

    @wraps(step)
    def run_and_return(*given: _P.args, **named: _P.kwargs) -> _R:
        _lengthen()
        return step(*given, **named)

    return run_and_return


def _lengthen() -> None:
    context = dg.OpExecutionContext.get()
    limit = context.instance.run_monitoring_max_runtime_seconds
    if 0 < limit < SECONDS and dg.MAX_RUNTIME_SECONDS_TAG not in context.run_tags:
        context.instance.add_run_tags(context.run_id, {dg.MAX_RUNTIME_SECONDS_TAG: str(SECONDS)})
