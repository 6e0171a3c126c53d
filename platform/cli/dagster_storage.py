"""Finds the storage of Dagster that belongs to a lake, and the tables whose last run failed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.wording import first_line

if TYPE_CHECKING:
    from dagster import DagsterInstance

#: Characters of an error's first line that are shown.
_MAX_ERROR_CHARACTERS = 300


def dagster_folder(home: Path | None) -> Path | None:
    """Return the folder of Dagster's instance; None if this machine has none.

    Args:
        home: home of the local platform; None takes the DAGSTER_HOME of the environment.
    """
    folder = home / "dagster" if home else Path(os.environ.get("DAGSTER_HOME") or "nowhere")
    return folder if folder.is_dir() else None


@contextmanager
def dagster_instance(home: Path | None) -> Iterator[DagsterInstance]:
    """Open Dagster's instance for a command that needs it.

    Raises:
        CommandError: this machine has none, or its settings are wrong.
    """
    folder = dagster_folder(home)
    if folder is None:
        raise CommandError(
            "the last runs of the lake are not known: set DAGSTER_HOME to the folder of its Dagster instance, or "
            "--home to that of a running local platform"
        )
    # This import takes a second. Commands without a Dagster storage do not pay it.
    from dagster import DagsterInstance

    try:
        instance = DagsterInstance.from_config(str(folder))
    except Exception as error:  # the storage is the user's choice, and so are its errors
        raise CommandError(storage_error(folder, error)) from None
    with instance:
        yield instance


def storage_error(folder: Path, error: Exception) -> str:
    """Return the sentence that Dagster's storage does not answer."""
    return f"Dagster on {folder} could not be asked about its runs: {first_line(str(error))[:_MAX_ERROR_CHARACTERS]}"


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
        raise DagsterNotAsked(storage_error(folder, error)) from None
