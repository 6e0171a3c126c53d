"""Failures of runs as people see them first: the page of a run shows one line, and then the trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from tidegate.platform.core.wording import first_line


@contextmanager
def readable_failure() -> Iterator[None]:
    """Raise each error as a failure of Dagster that begins with the first line of the error.

    Dagster wraps any other error: its page then begins with "Error occurred while executing op" and the trace of
    Dagster's own code, and the error is below that.

    Raises:
        dagster.Failure: instead of the error, which is its cause.
    """
    try:
        yield
    except dg.Failure:
        raise
    except Exception as error:
        raise dg.Failure(first_line(error)) from error
