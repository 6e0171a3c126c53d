"""Maintenance of one table: unneeded files are deleted, small files are merged, and its log gets a checkpoint.

Each step can be repeated. A run that dies leaves a table that its readers and writers use as before. The deletion comes
first: a merge that takes too long, each time, does not keep a table from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.table_maintenance import CLUSTER_ALL, Mergeable
from tidegate.platform.maintenance.cluster_columns import follow_cluster_by
from tidegate.platform.maintenance.compaction import compact
from tidegate.platform.maintenance.deletion import NOTHING, FreedObjects
from tidegate.platform.maintenance.file_source import file_source
from tidegate.platform.maintenance.vacuum import own_folder, retention, vacuum

#: The seams of maintenance, in order. Each is right after the step that it is named for.
SEAMS = ("maintain-delete", "maintain-compact", "maintain-checkpoint", "maintain-objects")

#: What a run reads must last for its time, which is that of `long_runs` at most, and what a query reads for its own. So
#: no retention of a table is shorter.
SHORTEST = timedelta(days=1)
#: Small files of one folder from which on they are merged: a table is not written again for each new file.
MIN_SMALL = 8
#: Share of the bytes of a clustered table that may be in files that are not clustered. Each query reads such files.
MAX_UNCLUSTERED = 0.05
#: Commits after the last checkpoint from which on there is another one: Delta's own interval.
MIN_COMMITS = 10


@dataclass(frozen=True)
class MaintenanceResult:
    """What maintenance did for one Delta table, or would do.

    Attributes:
        name: SQL name of the table.
        merged: number of files that were written again.
        checkpoint: whether its log got a checkpoint.
        log: commits and checkpoints that Delta deleted with it. A dry run does not know them.
        data: files that were deleted because no version needs them.
        source: where these were looked for, in words. Empty if it had no choice.
    """

    name: str
    merged: int = 0
    checkpoint: bool = False
    log: FreedObjects = NOTHING
    data: FreedObjects = NOTHING
    source: str = ""

    @property
    def freed(self) -> FreedObjects:
        """Everything that was deleted."""
        return self.log + self.data

    def line(self, *, dry_run: bool) -> str:
        """Return what was done in one line."""
        would = "would be " if dry_run else ""
        steps = [
            f"{self.data} {would}deleted" if self.data.files else "",
            f"{self.merged} files {would}merged" if self.merged else "",
            f"a checkpoint {would}written" if self.checkpoint else "",
            f"{self.log} of its log deleted" if self.log.files else "",
        ]
        source = f" ({self.source})" if self.source else ""
        return f"{self.name}: {', '.join(filter(None, steps)) or 'nothing to do'}{source}"


class TableBusy(UnavailableError):
    """A batch of the table is decided and not recorded. Its next run finishes it."""


def maintain_bronze(
    lake: Lake, table_key: str, *, dry_run: bool, log: Callable[[str], None] = lambda _: None
) -> list[MaintenanceResult]:
    """Maintain a bronze table and its ledger. Of a registered table only the log, because its files are the producer's.

    Args:
        dry_run: change nothing.
        log: called with each line.

    Raises:
        TableBusy: a batch is decided and not recorded: a run is at work, or died.
        PySparkException: Spark failed.
        StoreError: S3 did not answer.
    """
    table = lake.table(table_key)
    if table.birth is None:
        return []
    n = table.ledger.clock().n
    if table.batches.is_decided(n + 1):
        raise TableBusy(
            f"batch {n + 1} of {table_key} is decided and not recorded, so a run is at work or died: the table is "
            "maintained after its next run"
        )
    upkeep = _Upkeep(lake, dry_run=dry_run, log=log)
    name, done = table.birth.name, []
    if table.birth.registered:
        done.append(upkeep.log_only(f"bronze.{name}", table.birth.location))
    # Built from the lake root, never from the birth record: a registered table's location is the producer's folder. A
    # table that was loaded before a reset made it registered still has its old files here.
    own = lake.store.uri("bronze", table_key)
    merges = not table.birth.registered
    done.append(upkeep.table(f"bronze.{name}", own, table.spec.cluster_by, merges=merges))
    done.append(upkeep.table(f"ledger.{name}", table.ledger.location, merges=False))
    return [found for found in done if found]


def maintain_silver(
    lake: Lake, name: str, *, dry_run: bool, log: Callable[[str], None] = lambda _: None
) -> list[MaintenanceResult]:
    """Maintain the silver table of a name. Arguments and errors are those of `maintain_bronze`, without `TableBusy`."""
    upkeep = _Upkeep(lake, dry_run=dry_run, log=log)
    spec = next((table.silver for table in lake.config.tables if table.name == name), None)
    found = upkeep.table(f"silver.{name}", lake.store.uri("silver", name), spec.cluster_by if spec else None)
    return [found] if found else []


def keep_for(config: LakeConfig, delta: Delta, location: str) -> timedelta:
    """Return for how long the files of a table are kept after they were removed: by its properties or by lake.yaml.

    The longer of both counts, and never less than a day.
    """
    return max(retention(delta, location), timedelta(days=config.maintenance.versions), SHORTEST)


@dataclass(frozen=True)
class _Upkeep:
    lake: Lake
    dry_run: bool
    log: Callable[[str], None]

    def table(
        self, name: str, location: str, cluster_by: Sequence[str] | None = None, *, merges: bool = True
    ) -> MaintenanceResult | None:
        """Maintain one of the lake's own tables. Returns None if it does not exist.

        Args:
            name: SQL name.
            location: `s3a://` URI.
            cluster_by: the columns by which files are clustered when they are merged, as `lake.yaml` has them.
            merges: whether small files are merged.
        """
        own_folder(self.lake.store, location)
        state = self.lake.delta.table_state(location)
        if not state.exists:
            return None
        source = file_source(self.lake, location, state.files, time.time())
        keep = keep_for(self.lake.config, self.lake.delta, location)
        data = vacuum(self.lake, location, keep, dry_run=self.dry_run, inventory=source.inventory)
        merged = self._merge(name, location, cluster_by) if merges else 0
        done = MaintenanceResult(name, data=data, merged=merged, source=source.note)
        seam("maintain-compact")
        done = self._checkpoint(done, location)
        self.log(done.line(dry_run=self.dry_run))
        return done

    def log_only(self, name: str, location: str) -> MaintenanceResult | None:
        """Give the log of a table a checkpoint, and touch nothing else. Returns None if the table does not exist."""
        if not self.lake.delta.table_state(location).exists:
            return None
        done = self._checkpoint(MaintenanceResult(name), location)
        self.log(done.line(dry_run=self.dry_run))
        return done

    def _merge(self, name: str, location: str, cluster_by: Sequence[str] | None) -> int:
        delta = self.lake.delta
        clustered = follow_cluster_by(delta, location, cluster_by, name, self.log, dry_run=self.dry_run)
        found = delta.upkeep.find_mergeable(location, clustered)
        if not is_worth(found):
            return 0
        if self.dry_run:
            return found.files
        return compact(delta, location, name, self.log, CLUSTER_ALL if clustered else None).removed

    def _checkpoint(self, done: MaintenanceResult, location: str) -> MaintenanceResult:
        upkeep = self.lake.delta.upkeep
        if upkeep.checkpoint(location, write=False).commits < MIN_COMMITS:
            return done
        if self.dry_run:
            return replace(done, checkpoint=True)
        before = self._log_objects(location)
        upkeep.checkpoint(location, write=True)
        seam("maintain-checkpoint")
        left = {item.key for item in self._log_objects(location)}
        gone = [item for item in before if item.key not in left]
        return replace(done, checkpoint=True, log=FreedObjects(len(gone), sum(item.size for item in gone)))

    def _log_objects(self, location: str) -> list[Listed]:
        bucket, key = S3Address.parse_s3a(location)
        listed = self.lake.store.objects.list_under(bucket, f"{key}/_delta_log/")
        # Staged commits come and go with each commit.
        return [item for item in listed if "/.tmp/" not in item.key]


def is_worth(found: Mergeable) -> bool:
    """Return whether the files of a table are worth to be written again."""
    is_unclustered = found.pieces >= MIN_SMALL or found.unclustered_share > MAX_UNCLUSTERED
    return found.in_one_folder >= MIN_SMALL or found.hidden > 0 or is_unclustered
