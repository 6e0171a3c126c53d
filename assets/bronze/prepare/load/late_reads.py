"""Reads that take too long: they are ended and noted before the run is, and the next batch has fewer of the files.

Dagster ends a run that takes too long as a person would. Such a run notes nothing, because a person who ends it blames
no file. So a read ends before its run does, by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import PySparkException

from tidegate.assets.bronze.prepare.load.server_losses import MAX_SECONDS, losses_of, note_reads
from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.platform.core.bronze.plan import Candidate, Plan
from tidegate.resources.lake import Table
from tidegate.resources.spark.session import ended_after

#: The next batch has one of this many parts of the files. So many slow files are soon done, and a file at fault among
#: ten thousand is alone after eight reads.
_PARTS = 4


class ReadTooLong(RuntimeError):
    """The Spark server did not finish reading the files of a batch in time."""


@contextmanager
def reading(table: Table, candidates: Sequence[Candidate]) -> Iterator[None]:
    """Read the files of a batch in this context. If that takes too long, record it durably and end it.

    Raises:
        ReadTooLong: it took too long.
    """
    if not candidates:  # Then nobody needs the server.
        yield
        return
    with ended_after(table.delta.session, MAX_SECONDS) as is_late:
        try:
            yield
        except PySparkException as error:
            if not is_late():
                raise
            note_reads(table, candidates, late=True)
            such = f"{candidates[0].key} alone" if len(candidates) == 1 else f"{len(candidates)} files"
            raise ReadTooLong(
                f"the Spark server read {such} of {table.table_key} and did not finish within {MAX_SECONDS // 60} "
                "minutes, so it was stopped. Nothing was changed: the next run reads a quarter of them, and a file "
                "that takes so long alone twice is quarantined"
            ) from error


def first_part(plan: Plan, candidates: Sequence[Candidate], prepared: PreparedBatch) -> list[Candidate]:
    """Return a part of the candidates whose read took too long most often. The others are deferred.

    Without such a read these are all. The parts of a dataset stay together.
    """
    late = {candidate.key: len(losses_of(plan, candidate, late=True)) for candidate in candidates}
    most = max(late.values(), default=0)
    if not most:
        return list(candidates)
    together = {key for dataset in plan.datasets for key in dataset.keys}
    suspects = [candidate.key for candidate in candidates if late[candidate.key] == most]
    taken = together.union(suspects[: -(-len(suspects) // _PARTS)])
    for candidate in candidates:
        if candidate.key not in taken:
            prepared.defer(candidate)
    return [candidate for candidate in candidates if candidate.key in taken]
