"""What Dagster calls the parts of a lake: every asset key, the partitions, jobs, sensors, pools and the resource.

A key is public: lineage, history and the assets of users name it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import dagster as dg

from tidegate.platform.core.config.lake import LakeConfig

Report = Literal["cost", "growth", "advice", "audit", "uploads"]
#: First part of the keys of the assets of maintenance, and of the reports on tables of inventories.
MAINTENANCE, STORAGE = "maintenance", "storage"
#: The jobs whose runs hold bronze tables, in a lake without a name.
BRONZE_JOB, SHARED_JOB, MAINTENANCE_JOB = "bronze_job", "bronze_shared_job", "maintain"
#: The job that computes a table again. It has no partition.
REBUILD_JOB = "rebuild"
#: The job that forgets persons. A run may delete rows of every table.
FORGET_JOB = "forget"


@dataclass(frozen=True)
class LakeNames:
    """The names of one lake in Dagster. A lake with a name has it in each of them, so an instance can have several.

    Attributes:
        lake: `lake.name` of lake.yaml. Empty if it has none.
    """

    lake: str = ""

    @classmethod
    def from_config(cls, config: LakeConfig) -> LakeNames:
        """Return the names of a configured lake."""
        return cls(config.lake.name or "")

    def key(self, *parts: str) -> dg.AssetKey:
        """Return the key of an asset of the lake, whose first part is the name of the lake."""
        return dg.AssetKey([self.lake, *parts] if self.lake else list(parts))

    def name(self, name: str) -> str:
        """Return the name of a job, sensor, schedule, step, partitions definition or resource: `<lake>_<name>`."""
        return f"{self.lake}_{name}" if self.lake else name

    def label(self, name: str) -> str:
        """Return the name of a pool, or the value of a tag: `<lake>.<name>`."""
        return f"{self.lake}.{name}" if self.lake else name

    @property
    def resource(self) -> str:
        """The key of the resource: `lake`, or `<lake>_lake`."""
        return self.name("lake")

    @property
    def tables(self) -> dg.DynamicPartitionsDefinition:
        """The partitions of `bronze`: one a table, added when the table gets its first file."""
        return dg.DynamicPartitionsDefinition(name=self.name("tables"))

    def known_tables(self, instance: dg.DagsterInstance) -> set[str]:
        """Return the table keys that have a partition."""
        return set(instance.get_dynamic_partitions(self.name("tables")))

    @property
    def bronze(self) -> dg.AssetKey:
        """The asset of all bronze tables."""
        return self.key("bronze")

    @property
    def catalog(self) -> dg.AssetKey:
        """The asset of the Glue Data Catalog."""
        return self.key("catalog")

    @property
    def forgotten(self) -> dg.AssetKey:
        """The asset of the requests to forget persons."""
        return self.key("forgotten")

    @property
    def lake_costs(self) -> dg.AssetKey:
        """The asset of what the tables cost."""
        return self.key("lake_costs")

    @property
    def lake_health(self) -> dg.AssetKey:
        """The asset of the lake's health."""
        return self.key("lake_health")

    @property
    def maintained_bronze(self) -> dg.AssetKey:
        """The asset that maintains bronze tables."""
        return self.key(MAINTENANCE, "bronze")

    @property
    def maintained_lake(self) -> dg.AssetKey:
        """The asset that maintains the objects below the root of the lake."""
        return self.key(MAINTENANCE, "lake")

    def bronze_table(self, table: str) -> dg.AssetKey:
        """Return the key of a configured bronze table."""
        return self.key("bronze", table)

    def silver_table(self, table: str) -> dg.AssetKey:
        """Return the key of a silver table."""
        return self.key("silver", table)

    def silver_job(self, table: str) -> str:
        """Return the name of the job that merges a silver table."""
        return self.name(f"silver_{table}_job")

    def maintained_silver(self, table: str) -> dg.AssetKey:
        """Return the key of the asset that maintains a silver table."""
        return self.key(MAINTENANCE, "silver", table)

    def report(self, table: str, report: Report) -> dg.AssetKey:
        """Return the key of a report on a table of inventories."""
        return self.key(STORAGE, f"{table}_{report}")

    def reports(self, table: str) -> list[dg.AssetKey]:
        """Return the keys of all reports on a table of inventories."""
        return [self.report(table, report) for report in get_args(Report)]

    def bucket(self, bucket: str) -> dg.AssetKey:
        """Return the key of a bucket of sources."""
        return self.key("s3", bucket)

    def queue(self, name: str) -> dg.AssetKey:
        """Return the key of a queue."""
        return self.key("sqs", name)

    def route(self, name: str) -> dg.AssetKey:
        """Return the key of a route."""
        return self.key("routes", name)

    def holds(self, run: dg.DagsterRun) -> bool:
        """Return whether the tables of a run are those of this lake, and not of another one with equal table keys.

        A run that a person started from a page of assets has a selection. Other runs are those of a job.
        """
        if run.asset_selection:
            return not run.asset_selection.isdisjoint({self.bronze, self.maintained_bronze})
        jobs = (SHARED_JOB, BRONZE_JOB, MAINTENANCE_JOB)
        of_lakes = next((job for job in jobs if is_job_of_a_lake(run, job)), None)
        # A job of somebody's own may have the asset in it.
        return of_lakes is None or run.job_name == self.name(of_lakes)

    def select_held(self, runs: Iterable[dg.DagsterRun]) -> list[dg.DagsterRun]:
        """Return those of the runs whose tables are those of this lake."""
        return [run for run in runs if self.holds(run)]


def is_job_of_a_lake(run: dg.DagsterRun, job: str) -> bool:
    """Return whether a run is one of this job, of whatever lake."""
    return run.job_name == job or run.job_name.endswith(f"_{job}")


def bronze_key(table: str, *, lake: str = "") -> dg.AssetKey:
    """Return the asset key of a configured bronze table: `bronze/<table>`, or `<lake>/bronze/<table>`.

    Args:
        table: the SQL name of the table.
        lake: `lake.name` of lake.yaml, if it has one.
    """
    return LakeNames(lake).bronze_table(table)


def silver_key(table: str, *, lake: str = "") -> dg.AssetKey:
    """Return the asset key of a silver table: `silver/<table>`, or `<lake>/silver/<table>`.

    Args:
        table: the SQL name of the table.
        lake: `lake.name` of lake.yaml, if it has one.
    """
    return LakeNames(lake).silver_table(table)
