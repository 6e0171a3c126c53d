"""Results of the last runs and ticks in Dagster's storage, as far as a lake's health shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from tidegate.assets.bronze.report import QUARANTINE_CHECK, SAID_BEFORE, WITHOUT_STATE
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import COLLAPSE_CHECK, kept_description, result_of
from tidegate.assets.private_dagster import CheckExecution, ended_check_executions, last_check_executions
from tidegate.assets.sources.queue_checks import CHECK
from tidegate.platform.core.markdown import Markdown, sentence
from tidegate.platform.core.routing.unrouted_events import MISSES

#: Failed checks in a page, and pages that are read. Each failed check has up to twenty reasons.
_PAGE, _MAX_PAGES = 50, 100
#: Last materializations among which the last with a batch is searched.
_MAX_IDLE = 5


def quarantined_counts(instance: dg.DagsterInstance, names: LakeNames, since: float) -> dict[str, int]:
    """Return how many objects and rows bronze quarantined since then, by table key, from its failed checks.

    A run without work repeats the check results of the run before, which are not counted again. Each listing finds
    the objects that S3 refuses to read again, so only those of the newest run are counted.

    Args:
        since: epoch seconds.
    """
    quarantined: Counter[str] = Counter()
    refused: dict[str, int] = {}
    for record in failed_quarantine_checks(instance, names):
        if record.create_timestamp < since:
            break
        result = result_of(record)
        if record.partition and result and SAID_BEFORE not in result.metadata:
            counts = {name: _number(result.metadata, name) for name in ("objects", "rows", WITHOUT_STATE)}
            refused.setdefault(record.partition, counts[WITHOUT_STATE])
            quarantined[record.partition] += counts["objects"] + counts["rows"] - counts[WITHOUT_STATE]
    return dict(quarantined + Counter(refused))


def failed_quarantine_checks(instance: dg.DagsterInstance, names: LakeNames) -> Iterator[CheckExecution]:
    """Yield the newest 5,000 failures of bronze's check of the quarantine, the newest first, page by page."""
    check, last = dg.AssetCheckKey(names.bronze, QUARANTINE_CHECK), None
    for _ in range(_MAX_PAGES):
        page = ended_check_executions(instance, check, _PAGE, before=last, failed=True)
        yield from page
        if len(page) < _PAGE:
            return
        last = page[-1].id


def missed_today(
    instance: dg.DagsterInstance, names: LakeNames, queues: Sequence[str], now: float
) -> dict[str, dict[str, int]]:
    """Return the day's (UTC) events without a table, by queue and outcome, from the last checks of the queues.

    It takes one query.
    """
    keys = {dg.AssetCheckKey(names.queue(name), CHECK): name for name in queues}
    missed = {}
    for key, record in last_check_executions(instance, keys).items():
        same_day = (
            datetime.fromtimestamp(record.create_timestamp, UTC).date() == datetime.fromtimestamp(now, UTC).date()
        )
        if (result := result_of(record)) and same_day:
            missed[keys[key]] = {outcome: _number(result.metadata, outcome) for outcome in MISSES}
    return missed


def merges_that_warn(instance: dg.DagsterInstance, names: LakeNames, tables: Sequence[str]) -> dict[str, Markdown]:
    """Return why the last merges of silver tables warn, by `silver.<name>`. It takes one query.

    Args:
        tables: names of silver tables.
    """
    keys = {dg.AssetCheckKey(names.silver_table(name), COLLAPSE_CHECK): f"silver.{name}" for name in tables}
    found = last_check_executions(instance, keys)
    return {
        keys[key]: kept_description(result) or sentence("look at its check")
        for key, record in found.items()
        if (result := result_of(record)) and not result.passed
    }


def last_commit(instance: dg.DagsterInstance, names: LakeNames, table: str) -> float | None:
    """Return the epoch seconds at which the last run with a batch reported it. None if none of the last runs had one.

    Args:
        table: table key.
    """
    for record in _newest_records(instance, dg.AssetRecordsFilter(names.bronze, asset_partitions=[table]), _MAX_IDLE):
        if record.asset_materialization and _number(record.asset_materialization.metadata, "batches"):
            return record.timestamp
    return None


def earlier_lags(instance: dg.DagsterInstance, asset: dg.AssetKey, number: int) -> list[dict[str, float]]:
    """Return the metadata `lags` of the last materializations of an asset, the oldest first. It takes one query."""
    earlier = []
    for record in _newest_records(instance, dg.AssetRecordsFilter(asset), number):
        lags = record.asset_materialization.metadata.get("lags") if record.asset_materialization else None
        earlier.append(dict(lags.value) if lags and isinstance(lags.value, dict) else {})
    return earlier[::-1]


def _newest_records(
    instance: dg.DagsterInstance, wanted: dg.AssetRecordsFilter, number: int
) -> Iterator[dg.EventLogRecord]:
    yield from instance.fetch_materializations(wanted, limit=number).records


def _number(metadata: Any, name: str) -> int:
    value = metadata[name].value if name in metadata else 0
    return value if isinstance(value, int) else 0
