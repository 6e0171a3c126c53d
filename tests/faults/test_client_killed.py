"""A run dies between two steps, or inside a step. The next run finishes, and duplicates nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.lakes.harness import FaultLake, Watched
from tests.support.servers.client import DEADLINE
from tidegate.platform.bronze.run import SEAMS

#: The seams at which a run is a separate process and gets a real SIGKILL, by kind of table. Elsewhere it dies in the
#: test's process, which leaves the same objects (`Watched.dies_at`).
SIGKILLED = {"reg": "decide", "load": "commit"}


@pytest.fixture(scope="module")
def all_seams(make_lake: Callable[..., FaultLake]) -> FaultLake:
    """A lake with a registered and a loaded table for each seam. It is one lake because each costs a Spark session."""
    return make_lake(*[f"{kind}_{i}" for i in range(len(SEAMS)) for kind in SIGKILLED])


def die_and_run(seam: str, lake: FaultLake, tables: dict[str, Watched]) -> None:
    """Let a run of each table die at the seam, then let a run of each table finish."""
    lake.take_in()
    killed = {kind: table.client(seam) for kind, table in tables.items() if SIGKILLED[kind] == seam}
    for kind, table in tables.items():
        if kind in killed:
            killed[kind].wait_killed()
        else:
            table.dies_at(seam)
    for table in tables.values():
        table.run()


@pytest.mark.parametrize("seam", SEAMS)
def test_run_dies_at_seam(seam: str, all_seams: FaultLake) -> None:
    tables = {kind: all_seams.tables[f"{kind}_{SEAMS.index(seam)}"] for kind in SIGKILLED}
    for table in tables.values():
        table.first_wave()
    die_and_run(seam, all_seams, tables)
    for table in tables.values():
        table.second_wave()
    die_and_run(seam, all_seams, tables)
    for table in tables.values():
        table.check()


def test_run_dies_between_the_ledger_and_the_inbox(lake: FaultLake) -> None:
    table = lake.tables["load"]
    table.put("a")
    lake.take_in()
    table.dies_at("record-ledger")
    assert len(lake.lake.store.inbox.waiting(table.table_key)) == 1
    assert sorted(table.headers()) == [1]
    (done,) = table.run()
    assert (done.batch.n, done.found, done.landed.replayed) == (1, True, True), "it is reported, not ingested again"
    table.check()
    assert sorted(table.headers()) == [1]


@pytest.mark.parametrize("kind", ["reg", "load"])
@pytest.mark.parametrize("first", ["its write", "the next run"])
def test_client_killed_while_its_commit_is_in_flight(kind: str, first: str, proxied: Callable[..., FaultLake]) -> None:
    """A dead client's Spark operation continues. Its commit is claimed, so the next reader publishes it."""
    lake = proxied(kind)
    (table,) = lake.tables.values()
    client, held = table.commit_in_flight()
    client.kill()
    if first == "the next run":
        (done,) = table.run()
        held.release()
        held.wait_forwarded(DEADLINE)
        assert held.forwarded == [412]
    else:
        held.release()
        held.wait_forwarded(DEADLINE)
        assert held.forwarded == [200]
        (done,) = table.run()
    assert done.landed.replayed
    goes_on(table)


@pytest.mark.parametrize("kind", ["reg", "load"])
def test_client_killed_before_its_commit_is_claimed(kind: str, proxied: Callable[..., FaultLake]) -> None:
    """A dead client's Spark operation continues, and finds that the next run has committed its batch."""
    lake = proxied(kind)
    (table,) = lake.tables.values()
    client, held = table.commit_in_flight(staged=True)
    client.kill()
    (done,) = table.run()
    assert not done.landed.replayed
    held.release()
    held.wait_forwarded(DEADLINE)
    assert held.forwarded == [200]
    goes_on(table)


def goes_on(table: Watched) -> None:
    table.put("after")
    table.lake.take_in()
    table.run()
    table.check()
