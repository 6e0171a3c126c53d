"""Reads that take too long: they are ended and noted before the run is, and the next batch has fewer of the files.

Dagster ends a run that takes too long as a person would. Such a run notes nothing, because a person who ends it blames
no file. So a read ends before its run does, by itself.

A batch is divided into units: each dataset, and each file of no dataset. A note of a unit is a hint of its signal, or
of its file, so it comes and goes with the other hints of that object.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from pyspark.errors import PySparkException

from tidegate.platform.bronze.completion.incomplete_datasets import Failure, withdraw
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.hint import Hint, ServerLoss
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.bronze.plan import Candidate, Dataset, Plan, candidate_hints
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.deadline import DeadlineExceeded, limit_seconds
from tidegate.platform.lake.lake_root.inbox import TableInbox
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.session import limit_call_time

#: Seconds in which the files of a batch are read, however often. A run has an hour (`max_runtime_seconds` of
#: dagster.yaml), in which it also looks, commits and records.
MAX_SECONDS = 2700
#: The next batch has one of this many parts of the units. So many slow files are soon done, and a file at fault among
#: ten thousand is alone after eight reads.
_PARTS = 4
#: A unit is at fault after this many reads that took too long while no other was read.
_MAX_ALONE = 2


@dataclass(frozen=True)
class _Unit:
    """Candidates that are read together: the parts of a dataset, or one file.

    Attributes:
        hints: of the dataset's signal, or of the file.
        candidates: at least one.
        dataset: None for a file of no dataset.
    """

    hints: Sequence[Hint]
    candidates: Sequence[Candidate]
    dataset: Dataset | None = None

    @property
    def key(self) -> str:
        """The object whose hints the notes of the unit join."""
        return self.dataset.signal.hint.key if self.dataset else self.candidates[0].key

    @cached_property
    def etag(self) -> str:
        """Names exactly the bytes that are read. A signal may be empty, so its own etag does not."""
        if self.dataset is None:
            return self.candidates[0].found.etag
        parts = sorted(f"{candidate.key}\n{candidate.found.etag}\n" for candidate in self.candidates)
        return hashlib.sha256("".join(parts).encode(errors="surrogatepass")).hexdigest()

    @cached_property
    def late(self) -> list[ServerLoss]:
        """What the notes record for exactly the bytes that will be read now."""
        causes = [hint.cause for hint in self.hints]
        return [cause for cause in causes if isinstance(cause, ServerLoss) and cause.late and cause.etag == self.etag]


@contextmanager
def limit_reading(table_key: str, inbox: TableInbox, delta: Delta, plan: Plan, seconds: float) -> Iterator[None]:
    """Read the candidates of a plan in this context. If that takes too long, record it durably and end it.

    The context is that of the whole batch: if files are prepared again because others left, the time is not given
    again, and all that were read are noted. It is the time of the server and of what this process reads, in whatever
    thread of `parallel`.

    Args:
        seconds: that are left in the run. A unit is not blamed for a read that had less than its full time.

    Raises:
        UnavailableError: it took too long.
    """
    units = _units(plan)
    if not units:  # Then nobody needs the server.
        yield
        return
    limit = min(seconds, MAX_SECONDS)
    with limit_call_time(delta.session, limit) as is_late:
        try:
            with limit_seconds(limit):  # The note is written without a limit.
                yield
        except (PySparkException, DeadlineExceeded) as error:
            if not is_late() and not isinstance(error, DeadlineExceeded):
                raise
            alone = len(units) == 1 and limit == MAX_SECONDS
            hints = [Hint(unit.key, ServerLoss(unit.etag, alone, late=True)) for unit in units]
            inbox.put([Manifest.create(table_key, "lost", hints)])
            raise UnavailableError(
                f"this run read {_join_names(units)} of {table_key} and did not finish within "
                f"{limit // 60:.0f} minutes, so it was ended. Nothing was changed: the next run reads a quarter of "
                "that, and a file or dataset that takes so long alone twice is quarantined"
            ) from error


def _join_names(units: Sequence[_Unit]) -> str:
    files = sum(len(unit.candidates) for unit in units)
    if len(units) > 1:
        return f"{files} files"
    return f"the dataset of {units[0].key} alone ({files} files)" if units[0].dataset else f"{units[0].key} alone"


def keep_first_part(plan: Plan) -> None:
    """Leave in a plan a part of the units whose read took too long most often, and defer the others.

    Without such a read all stay. A unit whose read took too long alone twice is quarantined.
    """
    for unit in _units(plan):
        if sum(read.alone for read in unit.late) >= _MAX_ALONE:
            _quarantine(plan, unit)
    units = _units(plan)
    longest = max((len(unit.late) for unit in units), default=0)
    if not longest:
        return
    suspects = [unit for unit in units if len(unit.late) == longest]
    taken = {unit.key for unit in suspects[: -(-len(suspects) // _PARTS)]}
    others = [unit for unit in units if unit.key not in taken]
    for dataset in [unit.dataset for unit in others if unit.dataset]:
        withdraw(plan, Failure(dataset, ()))
    plan.defer([unit.key for unit in others if unit.dataset is None])


def _quarantine(plan: Plan, unit: _Unit) -> None:
    """Quarantine a file, or a dataset by its largest part: the others wait for it."""
    dataset = unit.dataset
    read = "this file" if dataset is None else "its dataset, of which it is the largest file,"
    several = "it in several files" if dataset is None else "the dataset as several, each with a signal of its own"
    reason = (
        f"{_MAX_ALONE} runs read {read} and no other of its table, and did not finish within {MAX_SECONDS // 60} "
        f"minutes: write {several}. If the Spark server was busy, or has more cores now: `tidegate redrive`"
    )
    if dataset:
        largest = max(unit.candidates, key=lambda candidate: candidate.found.size)
        withdraw(plan, Failure(dataset, (largest.row(Status.QUARANTINED, reason),)))
        return
    ended = PreparedBatch(plan)
    ended.quarantine(unit.candidates[0], reason)
    plan.rows += ended.rows
    plan.candidates.remove(unit.candidates[0])


def _units(plan: Plan) -> list[_Unit]:
    """Return the units of a plan, in the order of its candidates."""
    of_key = {key: place for place, dataset in enumerate(plan.datasets) for key in dataset.keys}
    members: dict[int | str, list[Candidate]] = {}
    for candidate in plan.candidates:
        members.setdefault(of_key.get(candidate.key, candidate.key), []).append(candidate)
    units = []
    for place, candidates in members.items():
        if isinstance(place, str):
            units.append(_Unit(candidate_hints(plan, candidates[0]), candidates))
        else:
            dataset = plan.datasets[place]
            signal = [item.hint for item in [*dataset.followers, dataset.signal]]
            units.append(_Unit(signal, candidates, dataset))
    return units
