"""A run dies between two steps, or inside a step. The next run finishes, and duplicates nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.lakes.harness import OWN_STEPS, FaultLake, Watched
from tests.support.servers.client import DEADLINE
from tidegate.platform.bronze.run import SEAMS
from tidegate.platform.core.config.commits import Commits

#: The seams at which a run is a separate process and gets a real SIGKILL, by kind of table. Both are killed at their
#: birth.
SIGKILLED = {"reg": "decide", "load": "commit"}


@pytest.fixture(scope="module")
def born(make_lake: Callable[..., FaultLake]) -> FaultLake:
    """Return a lake with a registered and a loaded table, which were born by runs that died, each one step later.

    It is one birth of each, because a birth costs more than all that a run does later. `test_server_killed.py` has a
    birth for each seam.
    """
    lake = make_lake(*SIGKILLED)
    lake.bear(SIGKILLED)
    return lake


def test_runs_die_at_every_seam_of_a_birth(born: FaultLake) -> None:
    for table in born.tables.values():
        table.check()


@pytest.mark.parametrize("seam", SEAMS)
def test_run_dies_at_seam(seam: str, born: FaultLake) -> None:
    tables = [table for kind, table in born.tables.items() if kind == "load" or seam in OWN_STEPS]
    for table in tables:
        table.second_wave()
    born.take_in()
    for table in tables:
        table.dies_at(seam)
        table.run()
        table.check()


def test_run_dies_between_the_ledger_and_the_inbox(unused: Callable[[str], Watched]) -> None:
    table = unused("load")
    lake = table.lake
    table.put("a")
    lake.take_in()
    table.dies_at("record-ledger")
    assert len(lake.lake.store.inbox.waiting_manifests(table.table_key)) == 1
    assert sorted(table.headers()) == [1]
    (done,) = table.run()
    assert (done.batch.n, done.found, done.landed.replayed) == (1, True, True), "it is reported, not ingested again"
    table.check()
    assert sorted(table.headers()) == [1]


@pytest.mark.parametrize("kind", ["reg", "load"])
@pytest.mark.parametrize("first", ["its write", "the next run"])
def test_client_killed_while_its_commit_is_in_flight(
    kind: str, first: str, proxied: Callable[[str], Watched], commits: Commits
) -> None:
    """A dead client's Spark operation continues. Its commit is claimed, so the next reader publishes it.

    Without DynamoDB nothing is claimed, and the next run commits.
    """
    table = proxied(kind)
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
    assert done.landed.replayed is (first == "its write" or commits == "dynamodb")
    continues_afterwards(table)


@pytest.mark.parametrize("kind", ["reg", "load"])
def test_client_killed_before_its_commit_is_claimed(
    kind: str, proxied: Callable[[str], Watched], commits: Commits
) -> None:
    """A dead client's Spark operation continues, and finds that the next run has committed its batch.

    Without DynamoDB nothing is staged, so it is the commit itself that comes too late.
    """
    table = proxied(kind)
    client, held = table.commit_in_flight(staged=commits == "dynamodb")
    client.kill()
    (done,) = table.run()
    assert not done.landed.replayed
    held.release()
    held.wait_forwarded(DEADLINE)
    assert held.forwarded == [200 if commits == "dynamodb" else 412]
    continues_afterwards(table)


def continues_afterwards(table: Watched) -> None:
    table.put("after")
    table.lake.take_in()
    table.run()
    table.check()
