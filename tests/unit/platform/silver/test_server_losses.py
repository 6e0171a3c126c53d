"""The Spark server is lost while a silver table is merged or compared: it is noted, and after many losses it rests."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.support.lakes.objects import Objects
from tidegate.platform.core.bronze.loss_quota import MAX_LOSSES
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.silver import merge
from tidegate.platform.silver.audit import comparison
from tidegate.platform.silver.server_losses import record_server_loss, why_silver_rests

SPEC: Any = SimpleNamespace(name="orders", personal=None)
BRONZE = "landing.orders"


@pytest.fixture
def lake() -> Any:
    config = SimpleNamespace(table_for=lambda key: key, lake=SimpleNamespace(commits="dynamodb"))
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    delta = SimpleNamespace(check_session_alive=lambda: None, other_log_store=lambda _: None)
    return SimpleNamespace(store=store, config=config, delta=delta)


def _failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


def _lose(lake: Any, error: Exception | None = None) -> None:
    lake.delta.check_session_alive = _failing(error or SparkUnreachable("no server"))


def _noted(lake: Any) -> list[str]:
    return [key.rpartition("/")[2].partition("-")[2] for key in lake.store.objects.bodies]


@pytest.mark.parametrize("work", ["merge", "rebuild", "compare"])
@pytest.mark.parametrize("alive", [True, False])
def test_a_merge_a_rebuild_and_a_comparison_note_a_loss_of_the_server_and_no_other_failure(
    work: str, alive: bool, lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = PySparkException("the connection broke")
    state = SimpleNamespace(mark=1, n=2, silver=SimpleNamespace(exists=True), bronze=SimpleNamespace(has_columns=True))
    for module in (merge, comparison):
        monkeypatch.setattr(module, "merge_state", lambda *_: state)
    monkeypatch.setattr(merge, "pending_merge", lambda *_: state)
    monkeypatch.setattr(merge, "replace", lambda state, **_: state)
    state.app_id = "app"
    monkeypatch.setattr(merge, "_merge", _failing(failed))
    monkeypatch.setattr(comparison, "_compare_keys", _failing(failed))
    if not alive:
        _lose(lake)
    run = {"merge": merge.merge_table, "rebuild": merge.rebuild_table, "compare": comparison.compare}[work]
    with pytest.raises(PySparkException, match="the connection broke"):
        run(lake, SPEC)  # type: ignore[operator]
    assert _noted(lake) == ([] if alive else ["silver:orders.json"])


@pytest.mark.parametrize("error", [ValueError("an option has changed"), KeyboardInterrupt()])
def test_what_is_not_a_failure_of_spark_asks_for_no_server(error: BaseException, lake: Any) -> None:
    _lose(lake)
    with pytest.raises(type(error)), record_server_loss(lake.config, lake.delta, lake.store.losses, "orders"):
        raise error
    assert _noted(lake) == []


def test_a_silver_table_that_often_loses_the_server_rests_and_charges_no_other(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bronze runs that read meanwhile note the same losses, each of which is half of theirs."""
    _lose(lake, PySparkException("a new session"))
    rests = []
    for number in range(2 * MAX_LOSSES):
        assert lake.store.losses.rests_until("silver:items", lake.config) is None
        with pytest.raises(SparkUnreachable), record_server_loss(lake.config, lake.delta, lake.store.losses, "orders"):
            raise SparkUnreachable("lost")
        if number < 2 * MAX_LOSSES - 1:
            assert lake.store.losses.note(BRONZE, lake.config, files=1) is None, "less than the quota of its own"
        rests.append(why_silver_rests(lake.config, lake.store.losses, "orders") is not None)
    assert rests == [False] * (2 * MAX_LOSSES - 1) + [True]
    assert "silver.orders rests until 20" in str(why_silver_rests(lake.config, lake.store.losses, "orders"))
    monkeypatch.setattr(comparison, "merge_state", _failing(AssertionError("it is read")))
    with pytest.raises(UnavailableError, match=r"silver\.orders rests until"):
        comparison.compare(lake, SPEC)
    real = time.time
    monkeypatch.setattr("tidegate.platform.silver.server_losses.time.time", lambda: real() + 25 * 3600)
    assert why_silver_rests(lake.config, lake.store.losses, "orders") is None
