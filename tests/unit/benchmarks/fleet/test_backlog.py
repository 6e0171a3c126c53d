from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest

from benchmarks.fleet.backlog import Gathered, Inbox
from benchmarks.fleet.rules import Rules
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.config.table_defaults import TableDefaults
from tidegate.platform.intake.round_manifests import PHASES, deal_time, may_wait

#: A table of each phase.
NAMES = [next(f"t{n}" for n in range(10_000) if crc32(f"t{n}".encode()) % PHASES == phase) for phase in range(PHASES)]


@pytest.mark.parametrize("window", [0, 60, 119, 120, 300, 301, 900, 1800])
@pytest.mark.parametrize("every", [5, 30, 400])
def test_the_model_gathers_and_deals_what_the_intake_does(window: int, every: int) -> None:
    model = Gathered(np.full(PHASES, float(window)), Rules(every=every))
    for hints in (1, 100, 101):
        waits = may_wait(TableDefaults(window=window), [Hint("a", size=0)] * hints, every)
        assert model.waiting_part(np.full(PHASES, hints), 1).tolist() == [waits] * PHASES
    for now in (1_764_533_017.0, 1_764_533_199.5) if window else ():
        assert model.deal_times(now).tolist() == [deal_time(name, window, now) for name in NAMES]


def test_what_is_dealt_waits_since_it_was_gathered() -> None:
    model, inbox = Gathered(np.full(PHASES, 300.0), Rules(every=5)), Inbox(PHASES)
    model.put(10.0, 8.0, np.ones(PHASES, np.int64))
    model.put(11.0, 9.0, np.ones(PHASES, np.int64))
    assert model.deal(12.0, inbox) == 0
    assert sum(model.deal(now, inbox) for now in range(12, 320)) == PHASES
    assert inbox.since.tolist() == [10.0] * PHASES
    assert inbox.take(0, 320.0, 10) == [(8.0, 1), (9.0, 1)]
    assert not model.hints.any()
