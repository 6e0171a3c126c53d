"""The asset check `silver_equals_bronze`: the rows of a sample of keys are what bronze gives.

It is a step of its own. A merge does not wait for it, and a sensor requests it for the tables that were merged since.
"""

from collections.abc import Collection, Iterator
from typing import Any

import dagster as dg
from pyspark.errors import PySparkException

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import check_result
from tidegate.assets.presentation.markdown import list_lines
from tidegate.assets.runs.executor import run_executor
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.markdown import Markdown, code, join_texts, sentence
from tidegate.platform.core.wording import command, first_line
from tidegate.platform.lake.lake import Lake
from tidegate.platform.silver.audit.comparison import (
    MAX_BYTES,
    MAX_FILE_ROWS,
    MAX_FILES,
    MAX_SUSPECTS,
    Comparison,
    compare,
)
from tidegate.platform.silver.audit.key_selection import MAX_KEYS
from tidegate.platform.silver.error_redaction import describe_spark_error
from tidegate.resources.lake_resource import LakeResource, with_lake

COMPARISON_JOB = "silver_comparison_job"
EQUALS_BRONZE_CHECK = "silver_equals_bronze"
#: Metadata of a result: Dagster's number of the newest materialization before tables were read. A result without it
#: compared nothing.
COVERS = "covers_materialization"
_FILES = f"{MAX_FILES} files, {MAX_BYTES >> 20} MiB and {MAX_FILE_ROWS:,} rows"


def build_comparisons(config: LakeConfig) -> list[dg.AssetChecksDefinition]:
    """Build the check of each silver asset, all of them as one step that takes any of them."""
    names = LakeNames.from_config(config)
    specs = {names.silver_table(spec.name): spec for spec in config.tables if spec.silver}
    if not specs:
        return []

    @dg.multi_asset_check(
        name=names.name("silver_comparison"),
        specs=[_check_spec(asset) for asset in specs],
        can_subset=True,
        description="Computes the rows of a sample of keys from bronze again.",
    )
    @with_lake(names.resource)
    def silver_comparison(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        assets = sorted(key.asset_key for key in context.selected_asset_check_keys)
        handles = lake.open(specs[assets[0]].table_key.encode())
        for asset in assets:
            yield equals_bronze(handles, specs[asset], asset, context.instance)

    return [silver_comparison]


def comparison_job(config: LakeConfig) -> list[Any]:
    """Build the job that compares silver tables with bronze. None without silver tables."""
    names = LakeNames.from_config(config)
    checks = [equals_bronze_key(names.silver_table(spec.name)) for spec in config.tables if spec.silver]
    if not checks:
        return []
    return [
        dg.define_asset_job(
            names.name(COMPARISON_JOB),
            selection=dg.AssetSelection.checks(*checks),
            executor_def=run_executor,
            description="Compares silver tables with bronze.",
        )
    ]


def equals_bronze_key(asset: dg.AssetKey) -> dg.AssetCheckKey:
    """Return the key of the check of a silver asset."""
    return dg.AssetCheckKey(asset, EQUALS_BRONZE_CHECK)


def _check_spec(asset: dg.AssetKey) -> dg.AssetCheckSpec:
    return dg.AssetCheckSpec(
        EQUALS_BRONZE_CHECK,
        asset=asset,
        description=f"Up to {MAX_KEYS:,} keys are computed from bronze again within an hour of a merge, and their rows "
        f"are those of silver. At most {_FILES} of each table are read, half of them the newest.",
    )


def last_materialization_ids(instance: dg.DagsterInstance, assets: Collection[dg.AssetKey]) -> dict[dg.AssetKey, int]:
    """Return the number of the last materialization of each asset that has one; later ones are larger."""
    entries = [record.asset_entry for record in instance.get_asset_records(list(assets))]
    numbers = {entry.asset_key: entry.last_materialization_storage_id for entry in entries}
    return {asset: number for asset, number in numbers.items() if number is not None}


def equals_bronze(lake: Lake, spec: TableSpec, asset: dg.AssetKey, instance: dg.DagsterInstance) -> dg.AssetCheckResult:
    """Compare silver with bronze. A comparison that cannot be made is a warning: the merge has succeeded already.

    Whatever it is, it keeps no other table from being compared, and this one is tried again.

    Args:
        asset: its silver asset.
        instance: knows the materializations. One that ends while tables are read is not covered.
    """
    newest = last_materialization_ids(instance, [asset]).get(asset, 0)
    try:
        found = compare(lake, spec)
    except Exception as error:
        return check_result(
            asset_key=asset,
            check_name=EQUALS_BRONZE_CHECK,
            passed=False,
            severity=dg.AssetCheckSeverity.WARN,
            description=sentence(
                "silver.{} could not be compared with bronze: {}", spec.name, _explain_error(spec, error)
            ),
        )
    if found is None:
        return check_result(
            asset_key=asset,
            check_name=EQUALS_BRONZE_CHECK,
            passed=True,
            description=sentence("silver has no rows of bronze yet"),
            metadata={COVERS: newest},
        )
    return _result(spec, asset, found, newest)


def _explain_error(spec: TableSpec, error: Exception) -> str:
    if spec.personal is not None and isinstance(error, PySparkException):
        return describe_spark_error(error)
    return first_line(error)


def _result(spec: TableSpec, asset: dg.AssetKey, found: Comparison, newest: int) -> dg.AssetCheckResult:
    # A key of a table with personal columns may be an identity, and Dagster keeps what a check says.
    shown = [("KEY=VALUE",)] if spec.personal is not None and found.wrong else found.wrong
    commands = [command("why", f"silver.{spec.name}", *key) for key in shown]
    description = _success_text(spec, found) if not commands else sentence(
        "{} of {} keys differ from what bronze gives: somebody wrote to silver, or changed rows of bronze, or `silver` "
        "in lake.yaml has changed. See {}",
        len(found.wrong), f"{found.keys:,}", code(commands[0]),
    )  # fmt: skip
    return check_result(
        asset_key=asset,
        check_name=EQUALS_BRONZE_CHECK,
        passed=not commands,
        severity=dg.AssetCheckSeverity.ERROR,
        description=description,
        metadata={
            "keys": found.keys,
            "suspects": found.suspects,
            "left_out": found.left_out,
            "wrong": len(found.wrong),
            **({"why": list_lines(commands, code)} if commands else {}),
            "bronze_files": len(found.bronze.paths),
            "bronze_bytes": found.bronze.size,
            "silver_files": len(found.silver.paths),
            "silver_bytes": found.silver.size,
            "whole_tables": found.bronze.is_whole and found.silver.is_whole,
            COVERS: newest,
        },
    )


def _success_text(spec: TableSpec, found: Comparison) -> Markdown:
    """Return what a comparison without a wrong key has shown, and what it could not afford to read."""
    lines = [sentence("{} keys are as bronze gives them", f"{found.keys:,}")]
    if not found.keys and not found.left_out and not (found.bronze.is_whole and found.silver.is_whole):
        lines = [
            sentence(
                "no key of silver.{} was compared: none is in both tables, of each of which {} are read",
                spec.name,
                _FILES,
            )
        ]
    if found.left_out:
        lines.append(sentence("{} keys were left out, because they have too many rows", f"{found.left_out:,}"))
    if found.suspects > MAX_SUSPECTS:
        suspects = f"{found.suspects:,}"
        lines.append(sentence("of {} keys that may be wrong, {} were looked up", suspects, MAX_SUSPECTS))
    return join_texts("; ", lines)
