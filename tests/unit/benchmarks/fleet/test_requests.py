from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fleet.requests import request_runs
from benchmarks.fleet.rules import Rules
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.intake.due_tables import assign_runs, find_due_tables
from tidegate.platform.lake.lake_root.inbox import Backlog

NOW = 1_000_000.0
CONFIG = LakeConfig.model_validate(
    {"lake": {"root": "s3://lake/x"}, "queues": [{"name": "q"}], "buckets": ["acme"], "window": 60, "max_files": 500}
)


@pytest.mark.seeds(60, 600, first=0)
def test_the_model_requests_the_runs_that_the_sensor_requests(seed: int) -> None:
    random = np.random.default_rng(seed)
    tables = int(random.integers(1, 700))
    hints = random.choice([0, 1, 3, 100, 101, 400, 500, 900], tables)
    age = random.choice([0.0, 44.0, 45.0, 61.0, 500.0], tables)
    held = random.random(tables) < random.choice([0.0, 0.2, 1.0])
    room, after = int(random.integers(0, 12)), int(random.integers(-1, tables))
    keys = [TableKey("acme", f"t{n:04}/").encode() for n in range(tables)]
    assert keys == sorted(keys)

    order = [*range(after + 1, tables), *range(after + 1)]
    tour = [Backlog(keys[n], int(hints[n]), NOW - age[n]) for n in order if hints[n]]
    due = find_due_tables(
        tour, CONFIG, NOW, held={keys[n] for n in np.flatnonzero(held)}, max_runs=room, after=keys[after]
    )
    wanted = assign_runs(due.due)

    rules = Rules(max_files=500)
    found = request_runs(hints, age, held, np.full(tables, 60.0), rules, room=room, after=after)
    assert [keys[n] for n in found.own] == wanted.own
    assert [[keys[n] for n in run] for run in found.shared] == wanted.shared
    assert room == 0 or not tour or _next(found.last, hints) == _next(keys.index(due.last), hints)


def _next(last: int, hints: np.ndarray) -> int:
    """Return the table at which the next tour begins."""
    waiting = np.flatnonzero(hints)
    return int(next((n for n in waiting if n > last), waiting[0]))
