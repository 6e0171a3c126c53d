"""The rules by which tables get runs, and what the work costs. Both are what the project has and has measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from tidegate.assets.bronze.shared_job import SECONDS
from tidegate.platform.bronze.run import MAX_BATCHES
from tidegate.platform.core.config.lake import IntakeSpec
from tidegate.platform.core.config.table_defaults import TableDefaults
from tidegate.platform.intake.due_tables import COLD_SMALL_HINTS, MAX_RUNS, MAX_SHARED_TABLES
from tidegate.platform.intake.round_manifests import BATCH_PARTS, MAX_SECONDS, MIN_WINDOW, PHASES
from tidegate.platform.intake.tick import RECEIVE_SHARE
from tidegate.platform.lake.aws.drain import _CHUNK
from tidegate.platform.local.instance_config import instance_config

_INTAKE, _TABLE = IntakeSpec(), TableDefaults()
_DAGSTER = yaml.safe_load(instance_config(fork=True))


@dataclass(frozen=True)
class Rules:
    """When a table gets a run, and which tables share it. The defaults are those of the project.

    Attributes:
        window: seconds that a table's oldest hint waits.
        max_files: hints of a batch.
        every: seconds from one tick to the next, at least.
        events: messages that a tick receives, at most.
        receives: seconds for which a tick receives, at most.
        poll: seconds of a receive that nothing ends, with which receives end.
        loop: seconds between two turns of Dagster's daemon. A tick begins with a turn.
        chunk: messages that are processed together. Twice as many are in flight, at most.
        max_runs: runs that are queued or at work, at most.
        cold: hints of a table that shares a run, at most. All files of a fleet are small.
        max_shared: tables of a shared run, at most.
        shared_seconds: seconds after which a shared run begins no further table.
        batches: batches of a table in a run, at most.
        at_work: runs that Dagster has at work, at most.
        dequeue: seconds between two looks of Dagster at its queue of runs.
        processes: processes that drain the queue. With none, each tick drains it.
        min_window: seconds of the shortest window for which hints are gathered.
        gathered_seconds: seconds for which hints are gathered, at most.
        phases: parts of the tables, which are dealt one after another.
        batch_parts: the part of a batch of which more is not gathered is one by this number.
    """

    window: float = _TABLE.window
    max_files: int = _TABLE.max_files
    every: float = _INTAKE.every
    events: int = _INTAKE.events
    receives: float = _INTAKE.seconds * RECEIVE_SHARE
    poll: float = 1.0
    loop: float = 5.0
    chunk: int = _CHUNK
    max_runs: int = MAX_RUNS
    cold: int = COLD_SMALL_HINTS
    max_shared: int = MAX_SHARED_TABLES
    shared_seconds: float = SECONDS
    batches: int = MAX_BATCHES
    at_work: int = _DAGSTER["concurrency"]["runs"]["max_concurrent_runs"]
    dequeue: float = _DAGSTER["run_coordinator"]["config"]["dequeue_interval_seconds"]
    processes: int = 0
    min_window: float = MIN_WINDOW
    gathered_seconds: float = MAX_SECONDS
    phases: int = PHASES
    batch_parts: int = BATCH_PARTS


@dataclass(frozen=True)
class Costs:
    """What work costs: core seconds, and seconds if there are cores enough.

    Attributes:
        run_cpu: a run, without its tables.
        batch_cpu: a batch, without its files.
        file_cpu: a file.
        run_seconds: from the start of a run to its first table.
        batch_seconds: a batch, without its files.
        file_seconds: a file.
        receive_rate: messages that a tick receives a second.
        message_cpu: a message of the intake.
        tick_seconds: a tick, without its receives.
        tick_cpu: a tick, without its messages.
    """

    run_cpu: float
    batch_cpu: float
    file_cpu: float
    run_seconds: float
    batch_seconds: float
    file_seconds: float
    receive_rate: float
    message_cpu: float
    tick_seconds: float
    tick_cpu: float

    @classmethod
    def of(cls, figures: Mapping[str, float]) -> Costs:
        """Return the costs that figures contain."""
        return cls(**{name: figures[name] for name in cls.__dataclass_fields__})
