"""What the assets that report on a table of inventories have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dagster as dg

from tidegate.assets.keys import STORAGE, LakeNames, Report
from tidegate.assets.runs.long_runs import long_run
from tidegate.platform.core.config.inventories import StorageReportsSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.wording import command
from tidegate.resources.lake_resource import with_lake


def report_asset(
    names: LakeNames, spec: TableSpec, report: Report, description: str
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Return the decorator of a report on a table of inventories."""
    asset = dg.asset(
        key=names.report(spec.name, report),
        deps=[names.bronze_table(spec.name)],
        group_name=names.name(STORAGE),
        owners=list(spec.owners),
        kinds={"s3"},
        description=description,
    )
    return lambda step: asset(with_lake(names.resource)(long_run(step)))


def report_command(kind: str, spec: TableSpec, reports: StorageReportsSpec, **options: object) -> str:
    """Return the command that prints a report with the settings of its asset.

    Args:
        kind: name of the command.
        spec: the table of inventories.
        reports: settings of its reports.
        options: further options, by name. The price lists are none: the command takes those of `lake.yaml`, too.
    """
    if reports.configuration and kind != "uploads":
        options["configuration"] = reports.configuration
    words = ["inventory", kind, spec.name]
    for name, value in options.items():
        words += [f"--{name}", str(value)]
    return command(*words)
