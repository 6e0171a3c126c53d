"""The Spark server is killed while runs are stopped between two steps, and while its writes are in flight to S3."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.support.lakes.harness import OWN_STEPS, PROXIED, FaultLake, FaultServers, Watched
from tests.support.lakes.seams import Standing
from tests.support.servers.client import DEADLINE, Client
from tests.support.servers.fault_rules import Hold
from tidegate.platform.bronze.run import SEAMS
from tidegate.platform.core.bronze.manifest import is_note
from tidegate.platform.core.config.commits import Commits

#: Seams and kinds of tables.
CASES = [(seam, kind) for seam in SEAMS for kind in ("reg", "load") if kind == "load" or seam in OWN_STEPS]


@dataclass
class Stood:
    """A run that was stopped at a seam while the server died. `missed` is the reason if it was not."""

    table: Watched
    run: Standing
    missed: str = ""


@dataclass
class InFlight:
    """A write that was in flight to S3 when the server was killed."""

    table: Watched
    client: Client
    held: Hold


@dataclass
class Killed:
    """All activity when the server was killed, by case."""

    stood: dict[tuple[str, str], Stood] = field(default_factory=dict)
    in_flight: dict[str, InFlight] = field(default_factory=dict)


@pytest.fixture(scope="module")
def killed(make_lake: Callable[..., FaultLake], servers: FaultServers) -> Iterator[Killed]:
    """Yield one server, killed once while all cases were active, and started again."""
    found = Killed()
    try:
        # This comes first because it takes long, and the sender gives up a request that is held for minutes.
        found.stood = _stood(make_lake)
        found.in_flight = _in_flight(make_lake, servers)
        for write in found.in_flight.values():
            write.held.wait_caught(DEADLINE)
            write.table.lake.disconnect()
        servers.kill_spark()
        servers.restart_spark()
        for standing in found.stood.values():
            standing.run.resume()
        for standing in found.stood.values():
            standing.run.wait_ended()  # some finish, most fail: their session no longer exists
        next(iter(found.stood.values())).table.lake.disconnect()
        yield found
    finally:
        for write in found.in_flight.values():
            write.held.release()


def _stood(make_lake: Callable[..., FaultLake]) -> dict[tuple[str, str], Stood]:
    """Stop a run at every seam of a table's birth."""
    names = {(seam, kind): f"{kind}_{i}" for i, (seam, kind) in enumerate(CASES)}
    lake = make_lake(*names.values())
    for table in lake.tables.values():
        table.first_wave()
    lake.take_in()
    found = {case: Stood(lake.tables[name], lake.tables[name].hold_at(case[0])) for case, name in names.items()}
    for table in found.values():
        try:
            table.run.wait_reached()  # type: ignore[attr-defined]
        except AssertionError as error:
            table.missed = str(error)  # type: ignore[attr-defined]
    return found


def _in_flight(make_lake: Callable[..., FaultLake], servers: FaultServers) -> dict[str, InFlight]:
    """Hold the commits of a registered and of a loaded table's batch 2, that of a ledger, and a staged file."""
    tag = uuid.uuid4().hex[:6]
    cases = {
        "reg bronze": f"reg_{tag}",
        "load bronze": f"load_{tag}",
        "ledger": f"reg_l{tag}",
        "staged file": f"load_s{tag}",
    }
    lake = make_lake(*cases.values(), name=PROXIED)
    for table in lake.tables.values():
        table.put("a")
        table.put("b")
    lake.take_in()
    for table in lake.tables.values():
        table.run()
        table.put("c")
        table.remove("a")
    lake.take_in()
    found = {}
    for case, name in cases.items():
        table = lake.tables[name]
        path = f"/{table.location().removeprefix('s3a://')}/.*part-" if case == "staged file" else None
        held = servers.proxy.hold("PUT", path or table.next_commit("ledger" if case == "ledger" else "bronze"))
        found[case] = InFlight(table, table.client(), held)
    return found


@pytest.mark.parametrize("seam", SEAMS)
def test_server_killed_while_a_run_waits_at_a_seam(seam: str, killed: Killed) -> None:
    for item in [stood for case, stood in killed.stood.items() if case[0] == seam]:
        assert not item.missed, item.missed
        item.table.run()
        item.table.check()


@pytest.mark.parametrize("case", ["reg bronze", "load bronze", "ledger"])
def test_server_killed_while_its_commit_is_in_flight(case: str, killed: Killed, commits: Commits) -> None:
    in_flight = killed.in_flight[case]
    in_flight.client.kill()
    # The commit was claimed: the next reader publishes it, and finds that the batch is already committed. Without
    # DynamoDB it was not, and the next run commits; only the batch whose ledger was in flight is already committed.
    replayed = commits == "dynamodb" or case == "ledger"
    assert [done.landed.replayed for done in in_flight.table.run()] == [replayed]
    in_flight.held.release()
    in_flight.held.wait_forwarded(DEADLINE)
    assert in_flight.held.forwarded == [412], "the dead server's commit was published twice"
    in_flight.table.put("after")
    in_flight.table.lake.take_in()
    in_flight.table.run()
    in_flight.table.check()


def test_server_killed_while_it_stages_rows(killed: Killed) -> None:
    """The files are good, whatever error the client gets when the server is back. None may be quarantined."""
    in_flight = killed.in_flight["staged file"]
    in_flight.held.release()
    in_flight.client.wait_ended()
    # The run that lost the server has noted what was being read. One loss has no other effect.
    inbox = in_flight.table.lake.lake.store.inbox
    (note,) = [waiting.id for waiting in inbox.waiting_manifests(in_flight.table.table_key) if is_note(waiting.id)]
    (lost,) = inbox.table_inbox(in_flight.table.table_key).read([note])
    assert [(hint.key, hint.cause.name) for hint in lost.hints] == [(in_flight.table.key("c"), "ServerLostAlone")]
    in_flight.table.run()
    in_flight.table.check()
