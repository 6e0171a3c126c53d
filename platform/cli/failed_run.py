"""Finds the tables whose last run failed, and why, if Dagster's storage can be read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tidegate.platform.cli.dagster_storage import dagster_folder, not_asked
from tidegate.platform.core.errors import UnavailableError


class DagsterNotAsked(UnavailableError):
    """Dagster's storage is configured and does not answer. The message says why, in one line."""


def failed_run(home: Path | None, lake: str, table: str) -> str | None:
    """Return when and why the last run of a table failed, in one line.

    None if it did not fail, or if no Dagster storage is known.

    Args:
        home: home of the local platform; None takes the DAGSTER_HOME of the environment.
        lake: name of the lake, which may be empty.
        table: the table's key, which is the partition of its runs.
    """
    try:
        failed = last_failures(home, lake, [table]) or {}
    except DagsterNotAsked as error:
        return str(error)
    return f"the last run of {table} {failed[table]}" if table in failed else None


def last_failures(
    home: Path | None, lake: str, tables: Collection[str], silver: Collection[str] = ()
) -> dict[str, str] | None:
    """Return when and why the last run failed, for each table where it failed. None if no Dagster storage is known.

    Args:
        home: home of the local platform; None takes the DAGSTER_HOME of the environment.
        lake: name of the lake, which may be empty.
        tables: table keys.
        silver: names of silver tables; the result has them as `silver.<name>`.

    Raises:
        DagsterNotAsked: the storage of Dagster does not answer.
    """
    folder = dagster_folder(home)
    if folder is None:
        return None
    # These imports take a second. Commands without a Dagster storage do not pay it.
    from dagster import DagsterInstance

    from tidegate.assets.keys import LakeNames
    from tidegate.assets.runs.failed_runs import failed_runs

    try:
        with DagsterInstance.from_config(str(folder)) as instance:
            found = failed_runs(instance, LakeNames(lake), tables, silver)
            return {table: str(failed) for table, failed in found.items()}
    except Exception as error:  # the storage is the user's choice, and so are its errors
        raise DagsterNotAsked(not_asked(folder, error)) from None
