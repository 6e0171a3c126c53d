from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.fleet.cores import Cores


def finished(cores: Cores, works: list[tuple[float, float, float]]) -> list[float]:
    """Return when each of the works (begin, seconds, core seconds) ends."""
    waiting = sorted(((begin, n) for n, (begin, _, _) in enumerate(works)), reverse=True)
    found: dict[int, float] = {}
    done: list[int] = []
    while waiting or cores.next_end() < math.inf:
        if waiting and waiting[-1][0] <= cores.next_end():
            begin, n = waiting.pop()
            cores.begin(begin, *works[n][1:], lambda n=n: done.append(n))
        else:
            when = cores.end_next()
            found[done.pop()] = when
    return [found[n] for n in range(len(works))]


def test_work_that_is_alone_takes_its_seconds() -> None:
    assert finished(Cores(2), [(1.0, 3.0, 3.0)]) == [4.0]


def test_two_works_on_one_core_take_twice_as_long() -> None:
    assert finished(Cores(1), [(0.0, 1.0, 1.0), (0.0, 1.0, 1.0)]) == [2.0, 2.0]


def test_work_that_needs_less_than_a_core_leaves_the_rest_to_others() -> None:
    assert finished(Cores(1), [(0.0, 2.0, 1.0), (0.0, 2.0, 1.0)]) == [2.0, 2.0]


def test_work_that_comes_later_slows_down_only_what_is_left() -> None:
    assert finished(Cores(1), [(0.0, 2.0, 2.0), (1.0, 1.0, 1.0)]) == [3.0, 3.0]


def test_other_work_gets_its_even_part_of_too_few_cores() -> None:
    assert finished(Cores(2, others=2), [(0.0, 1.0, 2.0)]) == [2.0]
    assert finished(Cores(2, others=1), [(0.0, 1.0, 1.0)]) == [1.0]


def test_the_used_core_seconds_are_those_of_the_work() -> None:
    cores, random = Cores(3, others=2), np.random.default_rng(1)
    works = [(float(b), float(s), float(c)) for b, s, c in random.uniform(0.1, 5, (200, 3))]
    finished(cores, works)
    assert cores.used == pytest.approx(sum(cpu for _, _, cpu in works))


@pytest.mark.parametrize("busy", [0.3, 0.6, 0.8])
def test_the_mean_time_of_a_shared_core_is_that_of_queueing_theory(busy: float) -> None:
    """M/G/1 with processor sharing: the mean is s / (1 - load), whatever the distribution of the work."""
    random = np.random.default_rng(7)
    begins = np.cumsum(random.exponential(1 / busy, 20_000))
    took = np.array(finished(Cores(1), [(begin, 1.0, 1.0) for begin in begins.tolist()])) - begins
    assert took.mean() == pytest.approx(1 / (1 - busy), rel=0.08)
