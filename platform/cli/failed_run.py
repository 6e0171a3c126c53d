"""Why the last run of a table failed, where Dagster can be asked."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from tidegate.platform.core.first_line import first_line

#: Of an error's first line, as much is shown.
_MOST_CHARACTERS = 300


def failed_run(home: Path | None, table: str) -> str | None:
    """That the last run of a table failed, when and why, in one line; None if it did not, or Dagster is not at hand.

    Args:
        home: of the local platform; None takes the DAGSTER_HOME of the environment.
        table: the table's key, which is the partition of its runs.
    """
    folder = home / "dagster" if home else Path(os.environ.get("DAGSTER_HOME") or "nowhere")
    if not folder.is_dir():
        return None
    try:
        with dg.DagsterInstance.from_config(str(folder)) as instance:
            return last_failure(instance, table)
    except Exception as error:  # the storage is the user's choice, and so are its errors
        return f"Dagster on {folder} could not be asked about its runs: {first_line(str(error))[:_MOST_CHARACTERS]}"


def last_failure(instance: dg.DagsterInstance, table: str) -> str | None:
    """As ``failed_run`` says it of an instance."""
    ended = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
    last = instance.get_run_records(dg.RunsFilter(statuses=ended, tags={"dagster/partition": table}), limit=1)
    if not last or last[0].dagster_run.status is dg.DagsterRunStatus.SUCCESS:
        return None
    run = last[0].dagster_run.run_id
    when = datetime.fromtimestamp(last[0].end_time or last[0].update_timestamp.timestamp(), UTC)
    why = _why(instance, run)
    return f"the last run of {table} failed at {when:%Y-%m-%d %H:%M:%SZ} (run {run})" + (f": {why}" if why else "")


def _why(instance: dg.DagsterInstance, run: str) -> str | None:
    failures = instance.get_records_for_run(run, of_type=dg.DagsterEventType.STEP_FAILURE, limit=1).records
    event = failures[0].event_log_entry.dagster_event if failures else None
    error = event.step_failure_data.error if event else None
    if error is None:
        return None
    # Dagster's own error is around the one that was raised.
    return first_line((error.cause or error).message)[:_MOST_CHARACTERS]
