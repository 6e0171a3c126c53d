"""The executor of Tidegate's runs: Dagster's own that starts no process for a step, with the lock of the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg

from tidegate.assets.runs.run_locks import RunLocks


class _LockedRun(dg.Executor):
    """Takes the lock of the run before another executor works.

    The process of the run itself must have the lock. An executor that starts processes would end while its run lives.

    Args:
        inner: Dagster's executor that works in the process of the run.
    """

    def __init__(self, inner: dg.Executor) -> None:
        self._inner = inner

    @property
    def retries(self) -> Any:
        """Whether steps are repeated, as the other executor says."""
        return self._inner.retries

    @property
    def step_dependency_config(self) -> Any:
        """What a step waits for, as the other executor says."""
        return self._inner.step_dependency_config

    def execute(self, plan_context: Any, execution_plan: Any) -> Iterator[dg.DagsterEvent]:
        """Execute the steps of a run."""
        RunLocks.from_root(plan_context.instance.root_directory).hold(plan_context.run_id)
        yield from self._inner.execute(plan_context, execution_plan)


@dg.executor(name="in_process", config_schema=dg.in_process_executor.config_schema.as_field())
def run_executor(init_context: dg.InitExecutorContext) -> dg.Executor:
    """Execute all steps in the process of the run, which holds the lock that says whether it is alive."""
    make = dg.in_process_executor.executor_creation_fn
    assert make is not None
    return _LockedRun(make(init_context))
