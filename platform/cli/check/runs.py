"""Check that the last run of no table failed, if Dagster's storage can be read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tidegate.platform.cli.check.findings import Finding
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.dagster_storage import DagsterNotAsked, last_failures


def check_runs(home: Path | None, lake: str, tables: Collection[str], silver: Collection[str]) -> list[Finding]:
    """Return a finding for each table whose last run failed, or one finding that no run failed.

    Args:
        home: home of the local platform; None takes the DAGSTER_HOME of the environment.
        lake: name of the lake, which may be empty.
        tables: table keys.
        silver: names of silver tables.
    """
    check, every = Check.TABLE_LAST_RUN, "each table"
    try:
        failed = last_failures(home, lake, tables, silver)
    except DagsterNotAsked as error:
        return [Finding(check, every, False, str(error))]
    if failed is None:
        return [Finding(check, every, True, "not checked: DAGSTER_HOME names no folder of this machine")]
    if not failed:
        return [Finding(check, every, True, "none failed")]
    return [Finding(check, table, False, reason) for table, reason in failed.items()]
