"""The asset check `silver_equals_bronze`: the rows of a sample of keys are what bronze gives."""

import shlex

import dagster as dg
from pyspark.errors import PySparkException

from tidegate.assets.presentation.discreet import spark_failed
from tidegate.assets.presentation.listed import code, listed
from tidegate.assets.silver.audit.chosen_keys import MAX_KEYS
from tidegate.assets.silver.audit.comparison import (
    MAX_BYTES,
    MAX_FILE_ROWS,
    MAX_FILES,
    MAX_SUSPECTS,
    Comparison,
    compare,
)
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.first_line import first_line
from tidegate.resources.lake import Lake

EQUALS_BRONZE_CHECK = "silver_equals_bronze"
_FILES = f"{MAX_FILES} files, {MAX_BYTES >> 20} MiB and {MAX_FILE_ROWS:,} rows"


def equals_bronze_spec(asset: dg.AssetKey) -> dg.AssetCheckSpec:
    """Returns the check of a silver asset."""
    return dg.AssetCheckSpec(
        EQUALS_BRONZE_CHECK,
        asset=asset,
        description=f"Up to {MAX_KEYS:,} keys are computed from bronze again after each merge, and their rows are "
        f"those of silver. At most {_FILES} of each table are read, half of them the newest.",
    )


def equals_bronze(lake: Lake, spec: TableSpec, asset: dg.AssetKey) -> dg.AssetCheckResult:
    """Compare silver with bronze. A comparison that cannot be made is a warning: the merge has succeeded already."""
    try:
        found = compare(lake, spec)
    except (PySparkException, ValueError) as error:
        return dg.AssetCheckResult(
            asset_key=asset,
            check_name=EQUALS_BRONZE_CHECK,
            passed=False,
            severity=dg.AssetCheckSeverity.WARN,
            description=f"silver.{spec.name} could not be compared with bronze: {_why(spec, error)}",
        )
    if found is None:
        return dg.AssetCheckResult(
            asset_key=asset,
            check_name=EQUALS_BRONZE_CHECK,
            passed=True,
            description="silver has no rows of bronze yet",
        )
    return _result(spec, asset, found)


def _why(spec: TableSpec, error: PySparkException | ValueError) -> str:
    if spec.personal is not None and isinstance(error, PySparkException):
        return spark_failed(error)
    return first_line(error)


def _result(spec: TableSpec, asset: dg.AssetKey, found: Comparison) -> dg.AssetCheckResult:
    # A key of a table with personal columns may be an identity, and Dagster keeps what a check says.
    shown = [("KEY=VALUE",)] if spec.personal is not None and found.wrong else found.wrong
    commands = [shlex.join(["tidegate", "why", f"silver.{spec.name}", *key]) for key in shown]
    description = _right(spec, found) if not commands else (
        f"{len(found.wrong)} of {found.keys:,} keys differ from what bronze gives: somebody wrote to silver, or "
        f"changed rows of bronze, or `silver` in lake.yaml has changed. See {code(commands[0])}"
    )  # fmt: skip
    return dg.AssetCheckResult(
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
            **({"why": listed(map(code, commands))} if commands else {}),
            "bronze_files": len(found.bronze.paths),
            "bronze_bytes": found.bronze.size,
            "silver_files": len(found.silver.paths),
            "silver_bytes": found.silver.size,
            "whole_tables": found.bronze.is_whole and found.silver.is_whole,
        },
    )


def _right(spec: TableSpec, found: Comparison) -> str:
    """Returns what a comparison without a wrong key has shown, and what it could not afford to read."""
    lines = [f"{found.keys:,} keys are as bronze gives them"]
    if not found.keys and not found.left_out and not (found.bronze.is_whole and found.silver.is_whole):
        lines = [
            f"no key of silver.{spec.name} was compared: none is in both tables, of each of which {_FILES} are read"
        ]
    if found.left_out:
        lines.append(f"{found.left_out:,} keys were left out, because they have too many rows")
    if found.suspects > MAX_SUSPECTS:
        lines.append(f"of {found.suspects:,} keys that may be wrong, {MAX_SUSPECTS} were looked up")
    return "; ".join(lines)
