"""What happens in a lake, as it happens: files that wait, commits, quarantined objects, merges and failed runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal

import dagster as dg
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.assets.bronze.report import QUARANTINE_CHECK, SAID_BEFORE, page_of
from tidegate.assets.health.history import failed_quarantine_checks
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import result_of
from tidegate.assets.private_dagster import CheckExecution, ended_check_executions
from tidegate.assets.runs.failed_runs import FailedRun, failed_runs
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.inbox import Backlog
from tidegate.platform.lake.lake_root.root import is_table_key

Metadata = Mapping[str, dg.MetadataValue[Any]]
Happening = Literal["waiting", "committed", "quarantined", "merged", "failed", "unknown"]

#: Materializations of bronze that one query reads. The next call reads the others.
_MAX_COMMITS = 500
#: Newest runs of a table among which the run of a failed check is searched.
_MAX_RUNS = 50
#: Numbers in the metadata of a commit, and of a merge, that are shown.
_COMMIT_FIGURES = ("files", "rows", "bytes", "removed", "quarantined", "batch", "delta_version")
_MERGE_FIGURES = ("inserted", "updated", "deleted", "batch", "delta_version")


@dataclass(frozen=True)
class News:
    """Something that happened in a lake.

    Attributes:
        at: epoch seconds.
        event: what happened. `unknown`: something did not answer.
        table: SQL name of a configured table, else the table key; `silver.<name>` of a silver table. May be empty.
        numbers: numbers of the event.
        key: key of the quarantined object.
        detail: the reason of a quarantine or of a failure.
    """

    at: float
    event: Happening
    table: str
    numbers: Mapping[str, int | float] = field(default_factory=dict)
    key: str | None = None
    detail: str = ""


class Follower:
    """Follows a lake from the moment at which it is made. It asks S3 and Dagster's storage, and never Spark.

    Each call of `take_news` costs a listing of the inbox, and a few queries whatever the number of tables is.
    """

    def __init__(self, lake: Lake, instance: dg.DagsterInstance) -> None:
        self._lake, self._instance = lake, instance
        self._names = LakeNames.from_config(lake.config)
        merged = [spec.name for spec in lake.config.tables if spec.silver]
        self._silver = {self._names.silver_table(name): f"silver.{name}" for name in merged}
        newest = instance.fetch_materializations(self._names.bronze, limit=1).records
        self._commit = newest[0].storage_id if newest else 0
        self._check = next((record.id for record in failed_quarantine_checks(instance, self._names)), 0)
        self._merges = {key: record.storage_id for key, record in self._latest_merges()}
        self._failed = set(self._failures())
        self._waiting: dict[str, int] = {}
        self._unknown = ""

    def take_news(self, now: float) -> list[News]:
        """Return what happened since the last call, in the order in which it happened.

        Args:
            now: epoch seconds.
        """
        found = [
            *self._arrivals(now),
            *self._commits(),
            *self._quarantines(),
            *self._new_merges(),
            *self._new_failures(),
        ]
        return sorted(found, key=lambda news: news.at)

    def _arrivals(self, now: float) -> Iterator[News]:
        try:
            backlogs = [
                found for found in self._lake.store.walk_backlogs() if found.hints and is_table_key(found.folder)
            ]
        except (StoreError, BotoCoreError, ClientError) as error:
            detail = f"the inbox: {first_line(error)}"
            if detail != self._unknown:
                yield News(now, "unknown", "", detail=detail)
            self._unknown = detail
            return
        self._unknown = ""
        for backlog in backlogs:
            if backlog.hints > self._waiting.get(backlog.folder, 0):
                yield News(now, "waiting", self._name(backlog.folder), _waiting_numbers(backlog))
        self._waiting = {backlog.folder: backlog.hints for backlog in backlogs}

    def _commits(self) -> Iterator[News]:
        wanted = dg.AssetRecordsFilter(self._names.bronze, after_storage_id=self._commit)
        for record in self._instance.fetch_materializations(wanted, limit=_MAX_COMMITS, ascending=True).records:
            self._commit = record.storage_id
            made = record.asset_materialization
            if made and made.partition and _number(made.metadata, "batches"):
                yield News(
                    record.timestamp,
                    "committed",
                    self._name(made.partition),
                    _select_numbers(made.metadata, _COMMIT_FIGURES),
                )

    def _quarantines(self) -> Iterator[News]:
        last = self._check
        fresh = takewhile(lambda record: record.id > last, failed_quarantine_checks(self._instance, self._names))
        for record in fresh:
            self._check = max(self._check, record.id)
            evaluation = result_of(record)
            if not record.partition or evaluation is None or SAID_BEFORE in evaluation.metadata:
                continue
            table = self._name(record.partition)
            rows = evaluation.metadata.get("quarantine") or self._listed_on_page(record)
            for row in rows.records if isinstance(rows, dg.TableMetadataValue) else ():
                yield News(
                    record.create_timestamp,
                    "quarantined",
                    table,
                    key=str(row.data["key"]),
                    detail=str(row.data["reason"]),
                )

    def _listed_on_page(self, record: CheckExecution) -> dg.MetadataValue[Any] | None:
        """Return the bad objects of a run, which the page of its table lists. None if the table has no page.

        A run evaluates the check of the page first.
        """
        page = page_of(self._lake.config, record.partition or "")
        if page is None:
            return None
        check = dg.AssetCheckKey(page, QUARANTINE_CHECK)
        for evaluated in ended_check_executions(self._instance, check, _MAX_RUNS):
            if evaluated.run_id == record.run_id and (result := result_of(evaluated)):
                return result.metadata.get("quarantine")
        return None

    def _latest_merges(self) -> Iterator[tuple[dg.AssetKey, dg.EventLogRecord]]:
        for record in self._instance.get_asset_records(list(self._silver)) if self._silver else ():
            last = record.asset_entry.last_materialization_record
            if last is not None:
                yield record.asset_entry.asset_key, last

    def _new_merges(self) -> Iterator[News]:
        for key, record in self._latest_merges():
            made = record.asset_materialization
            if record.storage_id > self._merges.get(key, 0) and made:
                self._merges[key] = record.storage_id
                if _number(made.metadata, "batches"):
                    yield News(
                        record.timestamp, "merged", self._silver[key], _select_numbers(made.metadata, _MERGE_FIGURES)
                    )

    def _failures(self) -> Mapping[tuple[str, str], FailedRun]:
        """Return the last runs that failed, by table and run: a run may hold several tables."""
        tables = self._names.known_tables(self._instance)
        silver = [name.removeprefix("silver.") for name in self._silver.values()]
        found = failed_runs(self._instance, self._names, tables, silver)
        return {(table, failed.run_id): failed for table, failed in found.items()}

    def _new_failures(self) -> Iterator[News]:
        failures = self._failures()
        for (table, run), failed in failures.items():
            if (table, run) not in self._failed:
                name = table if table in self._silver.values() else self._name(table)
                yield News(failed.at, "failed", name, detail=f"run {run}: {failed.why}")
        self._failed = set(failures)

    def _name(self, table_key: str) -> str:
        spec = self._lake.config.table_for(TableKey.decode(table_key))
        return spec.name if spec else table_key


def _waiting_numbers(backlog: Backlog) -> dict[str, int | float]:
    return {"files": backlog.hints, "bytes": backlog.size}


def _select_numbers(metadata: Metadata, names: Sequence[str]) -> dict[str, int | float]:
    return {name: _number(metadata, name) for name in names if name in metadata}


def _number(metadata: Metadata, name: str) -> int | float:
    value = metadata[name].value if name in metadata else 0
    return value if isinstance(value, int | float) else 0
