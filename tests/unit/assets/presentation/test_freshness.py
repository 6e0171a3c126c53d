"""Dagster is asked to show a table as stale only where lake.yaml expects arrivals, and where that can be seen."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest
from pydantic import ValidationError

from tests.unit.conftest import PAPER
from tidegate.assets.bronze.table_pages import table_pages
from tidegate.assets.presentation.freshness import page_freshness, silver_freshness
from tidegate.assets.silver.asset import build_silver_assets
from tidegate.platform.core.config.lake import LakeConfig

LAGS = {"window": 60, "max_lag": 540}
EVERY = {"keys": ["id"], "order": "at", "every": 300}
NIGHTLY = {"keys": ["id"], "order": "at", "schedule": "0 3 * * *"}


def _lake(table: dict[str, Any], **lake: Any) -> LakeConfig:
    tables = [{"name": "orders", "prefix": "s3://landing/orders/", **LAGS, **table}]
    return LakeConfig.model_validate({**PAPER, "tables": tables, **lake})


def _windows(config: LakeConfig) -> dict[str, float]:
    """Return the seconds after which each asset is stale."""
    found = {}
    for definition in (*table_pages(config), *build_silver_assets(config)):
        for spec in definition.specs:
            policy = spec.freshness_policy
            if policy is not None:
                assert isinstance(policy, dg.FreshnessPolicy)
                found[spec.key.to_user_string()] = policy.fail_window.to_timedelta().total_seconds()  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize(
    ("table", "windows"),
    [
        ({}, {}),
        ({"silver": EVERY}, {}),
        ({"arrives_every": 3600}, {"bronze/orders": 4200}),
        ({"arrives_every": 3600, "silver": EVERY}, {"bronze/orders": 4200, "silver/orders": 4500}),
        ({"arrives_every": 3600, "silver": NIGHTLY}, {"bronze/orders": 4200}),
        ({"arrives_every": 3600, "silver": EVERY, "reconcile_interval": 900}, {"silver/orders": 4500}),
    ],
    ids=["nothing", "silver", "page", "both", "scheduled silver", "with listings"],
)
def test_an_asset_is_stale_if_expected_data_does_not_arrive(table: dict[str, Any], windows: dict[str, float]) -> None:
    config = _lake(table)
    assert _windows(config) == windows
    (spec,) = config.tables
    assert [page_freshness(spec) is not None, silver_freshness(spec) is not None] == [
        "bronze/orders" in windows,
        "silver/orders" in windows,
    ]


@pytest.mark.parametrize("silver", [None, NIGHTLY])
def test_an_expectation_that_nothing_would_show_is_refused(silver: dict[str, Any] | None) -> None:
    table = {"arrives_every": 3600, "silver": silver}
    for own, lakes in (({"reconcile_interval": 900}, {}), ({}, {"reconcile_interval": 900})):
        with pytest.raises(ValidationError, match="table orders has `arrives_every`, but a listing each 900 s"):
            _lake({**table, **own}, **lakes)
    with pytest.raises(ValidationError, match="greater than or equal to 60"):
        _lake({"arrives_every": 59})
