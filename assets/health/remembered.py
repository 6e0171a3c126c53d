"""What Dagster remembers of the last runs and ticks, as far as a lake's health shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from dagster._core.storage.asset_check_execution_record import (
    AssetCheckExecutionRecord,
    AssetCheckExecutionRecordStatus,
)

from tidegate.assets.bronze.asset import BRONZE
from tidegate.assets.bronze.report import QUARANTINE_CHECK, SAID_BEFORE, WITHOUT_STATE
from tidegate.assets.sources.asset import queue_key
from tidegate.assets.sources.queue_checks import CHECK, MISSES

#: Failed checks that are read at once, and how many times: each has up to twenty reasons with it.
_PAGE, _MOST_PAGES = 50, 6
#: Materializations among which the last one that brought something is looked for.
_MOST_IDLE = 5


def quarantined_since(instance: dg.DagsterInstance, since: float) -> dict[str, int]:
    """Objects and rows that bronze runs set apart since then, by table key; of the newest failed checks.

    A run that finds nothing to do says of its checks what the last one found: that is not counted again. Objects that
    S3 refuses are met by each listing anew: of those the newest run's are counted.

    Args:
        instance: Dagster's instance.
        since: epoch seconds.
    """
    found: Counter[str] = Counter()
    newest: dict[str, int] = {}
    for record in _failed(instance, dg.AssetCheckKey(BRONZE, QUARANTINE_CHECK)):
        if record.create_timestamp < since:
            break
        if record.partition and record.evaluation and SAID_BEFORE not in record.evaluation.metadata:
            told = {name: _number(record.evaluation.metadata, name) for name in ("objects", "rows", WITHOUT_STATE)}
            newest.setdefault(record.partition, told[WITHOUT_STATE])
            found[record.partition] += told["objects"] + told["rows"] - told[WITHOUT_STATE]
    return dict(found + Counter(newest))


def _failed(instance: dg.DagsterInstance, check: dg.AssetCheckKey) -> Iterator[AssetCheckExecutionRecord]:
    """The failures of a check, the newest first, page by page."""
    last = None
    for _ in range(_MOST_PAGES):
        page = instance.event_log_storage.get_asset_check_execution_history(
            check, limit=_PAGE, cursor=last, status={AssetCheckExecutionRecordStatus.FAILED}
        )
        yield from page
        if len(page) < _PAGE:
            return
        last = page[-1].id


def missed_today(instance: dg.DagsterInstance, queues: Sequence[str], now: float) -> dict[str, dict[str, int]]:
    """Events of the day (UTC) that no table takes, by queue and outcome, as the intake's last ticks said; one query."""
    keys = {dg.AssetCheckKey(queue_key(name), CHECK): name for name in queues}
    found = {}
    for key, record in instance.event_log_storage.get_latest_asset_check_execution_by_key(list(keys)).items():
        same_day = (
            datetime.fromtimestamp(record.create_timestamp, UTC).date() == datetime.fromtimestamp(now, UTC).date()
        )
        if record.evaluation and same_day:
            found[keys[key]] = {outcome: _number(record.evaluation.metadata, outcome) for outcome in MISSES}
    return found


def last_commit(instance: dg.DagsterInstance, table: str) -> float | None:
    """Epoch seconds at which the last run of a table that had a batch showed it; None where none is known.

    Args:
        instance: Dagster's instance.
        table: table key.
    """
    for record in _newest(instance, dg.AssetRecordsFilter(BRONZE, asset_partitions=[table]), _MOST_IDLE):
        if record.asset_materialization and _number(record.asset_materialization.metadata, "batches"):
            return record.timestamp
    return None


def earlier_lags(instance: dg.DagsterInstance, asset: dg.AssetKey, number: int) -> list[dict[str, float]]:
    """The metadata ``lags`` of the last materializations of an asset, the oldest first; one query."""
    found = []
    for record in _newest(instance, dg.AssetRecordsFilter(asset), number):
        lags = record.asset_materialization.metadata.get("lags") if record.asset_materialization else None
        found.append(dict(lags.value) if lags and isinstance(lags.value, dict) else {})
    return found[::-1]


def _newest(instance: dg.DagsterInstance, wanted: dg.AssetRecordsFilter, number: int) -> Iterator[dg.EventLogRecord]:
    yield from instance.fetch_materializations(wanted, limit=number).records


def _number(metadata: Any, name: str) -> int:
    value = metadata[name].value if name in metadata else 0
    return value if isinstance(value, int) else 0
