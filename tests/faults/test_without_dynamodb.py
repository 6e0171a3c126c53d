"""A part of the deaths of runs and clients, on a lake whose commits only S3 coordinates.

`pytest tests/faults --commits s3` runs every other fault test of lakes in this way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.lakes.harness import FaultLake, FaultServers, Watched
from tests.support.servers.client import DEADLINE
from tidegate.platform.local.aws import LocalAws

#: The seams at which a run is a separate process and gets a real SIGKILL, by kind of table.
SIGKILLED = {"reg": "commit", "load": "decide"}


@pytest.fixture(scope="module")
def servers(local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultServers]:
    found = FaultServers(tmp_path_factory.mktemp("without-dynamodb"), local_aws, "s3")
    try:
        found.start()
        yield found
    finally:
        found.stop()


def entries_of(table: Watched) -> int:
    """Return how many entries the commits of a table have in DynamoDB."""
    clients, location = table.lake.clients, table.location()
    found = 0
    if "delta_log" in clients.dynamodb.list_tables()["TableNames"]:
        for page in clients.dynamodb.get_paginator("scan").paginate(TableName="delta_log"):
            found += sum(item["tablePath"]["S"] == location for item in page["Items"])
    return found


def test_runs_die_at_every_seam_of_a_birth(make_lake: Callable[..., FaultLake]) -> None:
    lake = make_lake(*SIGKILLED)
    lake.bear(SIGKILLED)
    for table in lake.tables.values():
        table.check()
        assert entries_of(table) == 0


@pytest.mark.parametrize("kind", ["reg", "load"])
@pytest.mark.parametrize("first", ["its write", "the next run"])
def test_client_killed_while_its_commit_is_in_flight(kind: str, first: str, proxied: Callable[[str], Watched]) -> None:
    """A dead client's Spark operation continues. Nothing is claimed, so the next run commits, or finds the commit."""
    table = proxied(kind)
    client, held = table.commit_in_flight()
    client.kill()
    if first == "the next run":
        (done,) = table.run()
        held.release()
        held.wait_forwarded(DEADLINE)
        assert held.forwarded == [412], "the version was published twice"
    else:
        held.release()
        held.wait_forwarded(DEADLINE)
        assert held.forwarded == [200]
        (done,) = table.run()
    assert done.landed.replayed is (first == "its write")
    table.put("after")
    table.lake.take_in()
    table.run()
    table.check()
    assert entries_of(table) == 0
