"""Which tables' last run failed, and why, where Dagster can be asked."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from tidegate.platform.cli.check.catalog import Check
from tidegate.platform.cli.check.findings import Finding
from tidegate.platform.core.first_line import first_line

#: Of an error's first line, as much is shown.
_MOST_CHARACTERS = 300


class DagsterNotAsked(Exception):
    """Dagster is at hand and does not answer; the message says why, in one line."""


def failed_run(home: Path | None, table: str) -> str | None:
    """That the last run of a table failed, when and why, in one line; None if it did not, or Dagster is not at hand.

    Args:
        home: of the local platform; None takes the DAGSTER_HOME of the environment.
        table: the table's key, which is the partition of its runs.
    """
    try:
        failed = last_failures(home, [table]) or {}
    except DagsterNotAsked as error:
        return str(error)
    return f"the last run of {table} {failed[table]}" if table in failed else None


def check_runs(home: Path | None, tables: Collection[str], silver: Collection[str]) -> list[Finding]:
    """A finding for each table whose last run failed; else that none did.

    Args:
        home: of the local platform; None takes the DAGSTER_HOME of the environment.
        tables: table keys.
        silver: names of silver tables.
    """
    check, every = Check.TABLE_LAST_RUN, "each table"
    try:
        failed = last_failures(home, tables, silver)
    except DagsterNotAsked as error:
        return [Finding(check, every, False, str(error))]
    if failed is None:
        return [Finding(check, every, True, "not looked at: DAGSTER_HOME names no folder of this machine")]
    if not failed:
        return [Finding(check, every, True, "none failed")]
    return [Finding(check, table, False, told) for table, told in failed.items()]


def last_failures(home: Path | None, tables: Collection[str], silver: Collection[str] = ()) -> dict[str, str] | None:
    """When and why the last run of a table failed, for those for which it did; None if Dagster is not at hand.

    Args:
        home: of the local platform; None takes the DAGSTER_HOME of the environment.
        tables: table keys.
        silver: names of silver tables; told as ``silver.<name>``.

    Raises:
        DagsterNotAsked: its storage does not answer.
    """
    folder = home / "dagster" if home else Path(os.environ.get("DAGSTER_HOME") or "nowhere")
    if not folder.is_dir():
        return None
    # A second of imports, which commands that have no Dagster at hand do without.
    from dagster import DagsterInstance

    from tidegate.assets.runs.failed_runs import failed_runs

    try:
        with DagsterInstance.from_config(str(folder)) as instance:
            return {table: str(failed) for table, failed in failed_runs(instance, tables, silver).items()}
    except Exception as error:  # the storage is the user's choice, and so are its errors
        told = first_line(str(error))[:_MOST_CHARACTERS]
        raise DagsterNotAsked(f"Dagster on {folder} could not be asked about its runs: {told}") from None
