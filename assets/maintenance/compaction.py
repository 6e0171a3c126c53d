"""Small files of the tables that Tidegate writes become large ones, by the run that writes the table anyway."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import PySparkException

from tidegate.platform.core.first_line import first_line
from tidegate.resources.spark.delta import Delta
from tidegate.resources.spark.session import SparkUnreachable

#: A table is looked at each time that its number passes a multiple of this: a run that has 64 batches' small files to
#: merge does so in one Spark job, and a table never has many more.
EVERY = 64


def is_due(before: int, after: int) -> bool:
    """Whether a table that went from one batch to another should be compacted; pure."""
    return passes(EVERY, before, after)


def passes(number: int, before: int, after: int) -> bool:
    """Whether a multiple of a number lies behind one batch and not behind the other; pure."""
    return before // number < after // number


def compact(delta: Delta, location: str, name: str, log: Callable[[str], None]) -> None:
    """Merge the small files of a table; no row changes.

    It follows what the run had to do and never fails it: what is not merged now is merged the next time.

    Args:
        delta: the door to tables.
        location: ``s3a://`` URI of the table; never a registered one, whose files are the producer's.
        name: what the table is called.
        log: takes a line.
    """
    try:
        done = delta.compact(location)
    except (PySparkException, SparkUnreachable) as error:
        log(f"WARNING: the small files of {name} were not merged: {first_line(error)}")
        return
    if done.removed:
        log(f"{done.removed} small files of {name} became {done.added}")
