"""The code location: every definition of one lake, listed in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg

from tidegate.assets.bronze.asset import bronze_job, build_bronze
from tidegate.assets.bronze.shared_job import build_shared_job
from tidegate.assets.bronze.table_pages import build_page_checks, table_pages
from tidegate.assets.catalog import build_catalog
from tidegate.assets.costs import build_costs
from tidegate.assets.forgetting import build_forgotten
from tidegate.assets.health.asset import build_health_checks, build_lake_health
from tidegate.assets.inventory.asset import build_storage
from tidegate.assets.keys import LakeNames
from tidegate.assets.maintenance.asset import build_maintenance, maintenance_job
from tidegate.assets.maintenance.history import events_job, history_job
from tidegate.assets.operations.jobs import rebuild_job, redrive_job
from tidegate.assets.presentation.lake_yaml_lines import with_lake_yaml_lines
from tidegate.assets.routes.asset import build_route_checks, route_assets
from tidegate.assets.runs.executor import run_executor
from tidegate.assets.silver.asset import build_silver_assets, silver_job
from tidegate.assets.silver.comparison_check import build_comparisons, comparison_job
from tidegate.assets.sources.asset import source_assets
from tidegate.assets.sources.dead_letter_checks import build_dead_letter_checks
from tidegate.assets.sources.queue_checks import build_queue_checks
from tidegate.assets.translator import LakeTranslator, apply_translator
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.config.yaml_document import Location
from tidegate.platform.core.errors import BadSetting
from tidegate.resources.lake_resource import LakeResource, lake_path
from tidegate.sensors.compare_silver import build_comparison_sensor
from tidegate.sensors.dead_letters import build_dead_letters_sensor
from tidegate.sensors.forward import build_forward_sensor
from tidegate.sensors.health import build_health_sensor
from tidegate.sensors.intake.sensor import build_intake_sensor
from tidegate.sensors.maintain import build_maintenance_schedule
from tidegate.sensors.reconcile import build_reconcile_sensor
from tidegate.sensors.schedules import build_history_schedules, build_schedules
from tidegate.sensors.silver import build_silver_triggers


def build_definitions(
    lake_yaml: str | Path | LakeConfig,
    lake: LakeResource | None = None,
    *,
    translator: LakeTranslator | None = None,
    is_guest: bool = False,
) -> dg.Definitions:
    """Return all definitions of a lake: its assets, checks, jobs, sensors, schedules and the resource `lake`.

    Args:
        lake_yaml: path of the configuration, or the configuration as `load_lake` returns it.
        lake: the resource that runs open. None: the lake at that path, with Spark and AWS as the environment says.
        translator: gives assets other groups, owners, tags and descriptions.
        is_guest: whether the code location has definitions of others too. Their executor stays as it is, and their
            history is not deleted.

    Raises:
        LakeConfigError: the lake has errors. Each is a line with file, line and field.
        BadSetting: a configuration without its resource: runs read the file. Or the translator changes a key.
    """
    if isinstance(lake_yaml, LakeConfig) and lake is None:
        raise BadSetting("runs read the file of a lake: give its path, or the resource that has it")
    config = lake_yaml if isinstance(lake_yaml, LakeConfig) else load_lake(lake_yaml)
    lake = lake or LakeResource.from_environment(str(lake_yaml))
    names, triggers = LakeNames.from_config(config), build_silver_triggers(config)
    of_bronze = [bronze_job(config), build_shared_job(config)]
    assets = apply_translator(_assets(config), translator or LakeTranslator())
    jobs = [*of_bronze, *_jobs(config)]
    schedules = list(build_schedules(config))
    events = events_job(names, assets)
    every_job = [job.name for job in jobs] + [schedule.job_name for schedule in schedules]
    return dg.Definitions(
        assets=with_lake_yaml_lines(assets, lake.lake_yaml, _places(config)),
        asset_checks=_checks(config),
        jobs=jobs,
        sensors=[
            build_intake_sensor(config, of_bronze),
            *build_dead_letters_sensor(config),
            build_health_sensor(config),
            *build_forward_sensor(config),
            *build_reconcile_sensor(config),
            *build_comparison_sensor(config),
            *[trigger for trigger in triggers if isinstance(trigger, dg.SensorDefinition)],
        ],
        schedules=[
            *build_history_schedules(history_job(names, [*every_job, events.name], is_alone=not is_guest), events),
            *schedules,
            build_maintenance_schedule(config),
            *[trigger for trigger in triggers if isinstance(trigger, dg.ScheduleDefinition)],
        ],
        resources={names.resource: lake},
        # One asset per run: a child process per step would only cost its start.
        executor=None if is_guest else run_executor,
    )


def _assets(config: LakeConfig) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    return [
        *source_assets(config),
        build_bronze(config),
        *table_pages(config),
        *build_silver_assets(config),
        build_lake_health(config),
        *route_assets(config),
        *build_forgotten(config),
        *build_catalog(config),
        *build_maintenance(config),
        *build_storage(config),
        *build_costs(config),
    ]


def _jobs(config: LakeConfig) -> list[Any]:
    """Return the jobs that a person, or a sensor of one family, starts."""
    silver = [silver_job(LakeNames.from_config(config), spec) for spec in config.tables if spec.silver]
    return [redrive_job(config), rebuild_job(config), maintenance_job(config), *silver, *comparison_job(config)]


def _checks(config: LakeConfig) -> list[dg.AssetChecksDefinition]:
    """Return the checks that are not part of the step of their asset."""
    return [
        *build_page_checks(config),
        *build_queue_checks(config),
        *build_dead_letter_checks(config),
        *build_health_checks(config),
        *build_route_checks(config),
        *build_comparisons(config),
    ]


def _places(config: LakeConfig) -> dict[dg.AssetKey, Location]:
    """Return the place of each asset in `lake.yaml`."""
    names = LakeNames.from_config(config)
    places: dict[dg.AssetKey, Location] = {names.bronze: ("tables",)}
    places |= {names.lake_costs: ("costs",)} if config.costs else {}
    places |= {names.queue(spec.name): ("queues", index) for index, spec in enumerate(config.queues)}
    places |= {names.route(route.name): ("routes", index) for index, route in enumerate(config.routes)}
    for index, spec in enumerate(config.tables):
        places[names.bronze_table(spec.name)] = ("tables", index)
        places[names.silver_table(spec.name)] = ("tables", index, "silver")
        places |= {key: ("tables", index, "storage_reports") for key in names.reports(spec.name)}
        if spec.row_queue:
            places[names.queue(spec.row_queue.name)] = ("tables", index, "row_queue")
    return places


@dg.definitions
def defs() -> dg.Definitions:
    """Return the lake that TIDEGATE_LAKE names; built when Dagster asks for it, so that importing needs
    no lake.yaml.
    """
    return build_definitions(lake_path())
