"""The page of a failed run begins with what is wrong, and the commands that read it give the same line."""

from __future__ import annotations

import dagster as dg
import pytest

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.failure_summary import readable_failure
from tidegate.assets.runs.failed_runs import failed_runs

SAID = "silver.orders: bronze has no column 'nr'"


def test_the_first_line_of_a_failed_run_is_that_of_its_error() -> None:
    @dg.asset
    def silver_orders() -> None:
        with readable_failure():
            raise ValueError(f"{SAID}\nand more")

    job = dg.define_asset_job("silver_orders_job", [silver_orders])
    made = dg.Definitions(assets=[silver_orders], jobs=[job]).resolve_job_def("silver_orders_job")
    with dg.DagsterInstance.ephemeral() as instance:
        run = made.execute_in_process(raise_on_error=False, instance=instance)
        (failed,) = run.filter_events(lambda event: event.is_step_failure)
        error = failed.step_failure_data.error
        assert error is not None
        assert error.message.splitlines()[0].endswith(f"Failure: {SAID}")
        assert failed_runs(instance, LakeNames(), [], ["orders"])["silver.orders"].why == f"ValueError: {SAID}"


def test_a_failure_with_a_text_of_its_own_stays() -> None:
    with pytest.raises(dg.Failure, match="own text") as failed, readable_failure():
        raise dg.Failure("own text", allow_retries=False)
    assert failed.value.allow_retries is False
