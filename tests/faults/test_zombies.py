"""A run is stopped, the ledger advances by two batches, and the run continues as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.lakes.harness import Watched
from tests.support.servers.client import DEADLINE
from tidegate.platform.bronze.run import SEAMS


@pytest.mark.parametrize("kind", ["reg", "load"])
def test_stopped_at_every_seam_and_resumed_two_batches_later(kind: str, unused: Callable[[str], Watched]) -> None:
    """One run per seam, all with batch 2. Each run gets one step further than the previous one, and is stopped."""
    table = unused(kind)
    lake = table.lake
    table.first_wave()
    lake.take_in()
    table.run()
    recorded = max(table.headers())
    table.second_wave()
    lake.take_in()
    zombies = []
    for seam in SEAMS:
        zombie = table.hold_at(seam)
        zombie.wait_reached()
        zombies.append(zombie)
    for stem in ("f", "g"):
        table.put(stem)
        lake.take_in()
        assert table.run()
    assert max(table.headers()) >= recorded + 3  # the batch of the stopped runs, and two more
    for zombie in zombies:
        zombie.resume()
    for zombie in zombies:
        zombie.finished()
    table.run()
    table.check()


@pytest.mark.parametrize("kind", ["reg", "load"])
def test_stopped_with_its_spark_operation_open(kind: str, proxied: Callable[[str], Watched]) -> None:
    """A real SIGSTOP. Its commit is in flight all the time, and arrives when the table is two batches ahead."""
    table = proxied(kind)
    zombie, held = table.commit_in_flight()
    zombie.pause()
    for stem in ("d", "e", "f"):
        assert table.run()
        table.put(stem)
        table.lake.take_in()
    assert max(table.headers()) == 4
    held.release()
    held.wait_forwarded(DEADLINE)
    assert held.forwarded == [412]
    zombie.resume()
    zombie.finished()
    table.run()
    table.check()
