from __future__ import annotations

import numpy as np

from benchmarks.fleet.arrivals import Burst, Load


def counts(load: Load) -> np.ndarray:
    return np.array([of_slice for _, of_slice in load.slices()])


def test_the_same_seed_brings_the_same_objects_and_another_seed_others() -> None:
    load = Load(tables=50, a_day=1e6, seconds=600)
    assert (counts(load) == counts(load)).all()
    assert (counts(load) != counts(Load(tables=50, a_day=1e6, seconds=600, seed=2))).any()


def test_as_many_objects_come_as_the_load_says() -> None:
    found = counts(Load(tables=100, a_day=8.64e6, seconds=1_000)).sum()
    assert abs(found - 100_000) < 5 * 100_000**0.5


def test_the_table_of_rank_two_gets_half_of_what_the_first_one_gets() -> None:
    load = Load(tables=1_000)
    first, second, tenth = load.shares()[load.hottest(10)[[0, 1, 9]]]
    assert np.isclose([first / second, first / tenth], [2, 10]).all()
    assert np.isclose(load.shares().sum(), 1)


def test_a_burst_of_files_brings_exactly_its_files_to_its_tables() -> None:
    burst = Burst(60, 123, tables=26, files=1_000)
    usual, with_burst = (counts(Load(tables=100, a_day=0, seconds=300, bursts=bursts)) for bursts in ((), (burst,)))
    assert usual.sum() == 0
    assert sorted(with_burst.sum(axis=0)) == [0] * 74 + [1_000] * 26
    middles = np.array([middle for middle, _ in Load(tables=1, seconds=300).slices()])
    assert with_burst[(middles < 60) | (middles >= 123)].sum() == 0


def test_a_time_of_ten_times_the_load_brings_ten_times_the_objects() -> None:
    load = Load(tables=10, a_day=8.64e6, seconds=200, bursts=(Burst(100, 200, times=10),))
    before, during = counts(load)[:20].sum(), counts(load)[20:].sum()
    assert 9.5 < during / before < 10.5
