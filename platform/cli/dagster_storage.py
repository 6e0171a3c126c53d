"""Finds the storage of Dagster that belongs to a lake: that of a local platform, or that of the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.wording import first_line

if TYPE_CHECKING:
    from dagster import DagsterInstance

#: Characters of an error's first line that are shown.
_MAX_ERROR_CHARACTERS = 300


def dagster_folder(home: Path | None) -> Path | None:
    """Returns the folder of Dagster's instance; None if this machine has none.

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
        raise CommandError(not_asked(folder, error)) from None
    with instance:
        yield instance


def not_asked(folder: Path, error: Exception) -> str:
    """Returns the sentence that Dagster's storage does not answer."""
    return f"Dagster on {folder} could not be asked about its runs: {first_line(str(error))[:_MAX_ERROR_CHARACTERS]}"
