"""The Spark server is SIGKILLed: while clients stand between two steps, and while commits are on their way to S3."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.faults.harness import DEADLINE, PROXIED, Client, FaultLake, FaultServers, Watched
from tidegate.assets.bronze.run import SEAMS
from tidegate.platform.local.fault_rules import Hold

pytestmark = pytest.mark.faults

KINDS = ("reg", "load")


@dataclass
class Stood:
    """A client that stood at a seam while its server died; ``missed`` says why it did not."""

    table: Watched
    client: Client
    missed: str = ""


@pytest.fixture(scope="module")
def stood(make_lake, servers: FaultServers) -> dict[tuple[str, str], Stood]:  # noqa: ANN001
    """One client per seam and kind, all standing there when the one server is killed and started again."""
    names = {(seam, kind): f"{kind}_{i}" for i, seam in enumerate(SEAMS) for kind in KINDS}
    lake: FaultLake = make_lake(*names.values())
    for table in lake.tables.values():
        table.first_wave()
    lake.take_in()
    found = {case: Stood(lake.tables[name], lake.tables[name].client(case[0], "stop")) for case, name in names.items()}
    for one in found.values():
        try:
            one.client.wait_stopped()
        except AssertionError as error:
            one.missed = str(error)
    servers.kill_spark()
    servers.restart_spark()
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seam", SEAMS)
def test_server_killed_while_client_stands_at_seam(seam: str, kind: str, stood: dict[tuple[str, str], Stood]) -> None:
    one = stood[seam, kind]
    assert not one.missed, one.missed
    one.client.resume()
    one.client.wait_ended()  # it may have finished or have failed: it lost its session
    one.table.run()
    one.table.check()
    one.table.second_wave()
    one.table.lake.take_in()
    one.table.run()
    one.table.check()


@dataclass
class InFlight:
    """A commit that was on its way to S3 when its server was killed."""

    table: Watched
    client: Client
    held: Hold


@pytest.fixture(scope="module")
def in_flight(make_lake, servers: FaultServers) -> Iterator[dict[str, InFlight]]:  # noqa: ANN001
    """Held: commits of a registered and a loaded table's batch 2, of a ledger that records one, and a staged file."""
    tag = uuid.uuid4().hex[:6]
    cases = {
        "reg bronze": f"reg_{tag}",
        "load bronze": f"load_{tag}",
        "ledger": f"reg_l{tag}",
        "staged file": f"load_s{tag}",
    }
    lake: FaultLake = make_lake(*cases.values(), name=PROXIED)
    tables = {case: lake.tables[name] for case, name in cases.items()}
    for table in tables.values():
        table.put("a")
        table.put("b")
    lake.take_in()
    for table in tables.values():
        table.run()
        table.put("c")
        table.remove("a")
    lake.take_in()
    found = {}
    for case, table in tables.items():
        of = "ledger" if case == "ledger" else "bronze"
        path = table.log_path(table.version(of) + 1, of)
        if case == "staged file":
            path = path.partition("_delta_log/")[0] + ".*part-"
        held = servers.proxy.hold("PUT", path)
        found[case] = InFlight(table, table.client(), held)
    try:
        for one in found.values():
            one.held.wait_caught(DEADLINE)
        lake.disconnect()
        servers.kill_spark()
        servers.restart_spark()
        yield found
    finally:
        for one in found.values():
            one.held.release()


@pytest.mark.parametrize("case", ["reg bronze", "load bronze", "ledger"])
def test_server_killed_while_its_commit_is_in_flight(case: str, in_flight: dict[str, InFlight]) -> None:
    one = in_flight[case]
    one.client.kill()
    (done,) = one.table.run()
    assert done.landed.replayed == (case == "ledger")
    one.held.release()
    one.held.wait_forwarded(DEADLINE)
    assert one.held.forwarded == [412], "the dead server's commit was taken beside the new one"
    one.table.put("after")
    one.table.lake.take_in()
    one.table.run()
    one.table.check()


def test_server_killed_while_it_stages_rows(in_flight: dict[str, InFlight]) -> None:
    """The files are good, whatever the client is told when the server is back: none may end in the quarantine."""
    one = in_flight["staged file"]
    one.held.release()
    one.client.wait_ended()
    one.table.run()
    one.table.check()
