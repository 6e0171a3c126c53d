"""What Dagster should show as stale: assets of tables for which `lake.yaml` says how often data arrives."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

from tidegate.platform.core.config.table import TableSpec


def page_freshness(spec: TableSpec) -> dg.FreshnessPolicy | None:
    """Return the policy of a table's page. None if no arrivals are expected, or if the page would not show them.

    A run that lists the prefix materializes the page even if nothing arrived.
    """
    if spec.arrives_every is None or spec.reconcile_interval is not None:
        return None
    return _freshness_policy(spec.arrives_every + spec.lag_limit)


def silver_freshness(spec: TableSpec) -> dg.FreshnessPolicy | None:
    """Return the policy of a silver asset. None if no arrivals are expected, or if a schedule materializes the asset.

    Without a schedule the asset is materialized only if batches wait for it.
    """
    if spec.arrives_every is None or spec.silver is None or spec.silver.every is None:
        return None
    return _freshness_policy(spec.arrives_every + spec.lag_limit + spec.silver.every)


def _freshness_policy(seconds: int) -> dg.FreshnessPolicy:
    return dg.FreshnessPolicy.time_window(fail_window=timedelta(seconds=seconds))
