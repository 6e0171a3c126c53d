"""A Spark server on a standalone cluster, and next to it another server of the same tables: no row is lost or twice."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.lakes.harness import FaultLake, FaultServers, Watched, slot
from tests.support.servers.client import DEADLINE, wait_until
from tests.support.servers.cluster import Cluster
from tidegate.platform.core.spark_address import order_servers
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.local.aws import REGION
from tidegate.platform.local.process.ports import free_port
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.spark.deployment_server import DeployedServer, DeployedSettings
from tidegate.platform.local.spark.jars import jars_folder

#: Work for both executors, which SMALL_DATA would give one task.
PARALLEL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.leafNodeDefaultParallelism": "2",
    "spark.executor.memory": "600m",
    # They live for a minute, so the optimizing compiler costs more than it saves.
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
NAME = f"cluster-{uuid.uuid4().hex[:6]}"
LOADED, REGISTERED = f"load_{NAME[-6:]}", f"reg_{NAME[-6:]}"
ROUNDS = 2


@pytest.fixture(scope="module")
def cluster(servers: FaultServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with Cluster(folder, folder / "driver", servers.aws.environ) as found:
        yield found


def _port_of_home(other: SparkRemote) -> int:
    """Return a port at which the cluster's server, and not the other one, is the first in the order of `LOADED`."""
    while True:
        name = f"sc://localhost:{(port := free_port())}"
        if order_servers(f"landing-{NAME}.{LOADED}", [name, str(other)])[0] == name:
            return port


@pytest.fixture(scope="module")
def lake(cluster: Cluster, servers: FaultServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultLake]:
    """Yield a lake on the server of the cluster. Requests of its executors pass through the proxy."""
    through = {f"spark.hadoop.fs.s3a.bucket.lake-{NAME}.endpoint": servers.proxy.endpoint}
    wanted = DeployedSettings(
        REGION, servers.aws.endpoint, port=_port_of_home(servers.spark.remote), master=cluster.master, memory="2g",
        more=SMALL_DATA | PARALLEL | through, commits=servers.commits,
    )  # fmt: skip
    with ExitStack() as stack:
        environ = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in servers.aws.environ.items():
            environ.setenv(name, value)
        remote = replace(servers.spark.remote, address=f"sc://localhost:{wanted.port}")
        server = DeployedServer(cluster.driver, wanted, remote)
        stack.callback(server.stop)
        server.start(DEADLINE)
        own = copy.copy(servers)
        own.use(server)
        both = [remote, servers.spark.remote]
        found = FaultLake(own, tmp_path_factory.mktemp("lake"), NAME, [LOADED, REGISTERED], [LOADED], both)
        assert order_servers(found.key(LOADED), map(str, both))[0] == str(remote)
        stack.callback(found.close)
        assert found.lake.delta.other_log_store(servers.commits) is None
        yield found


def silver(lake: FaultLake) -> dict[int, int]:
    """Return the ids of silver by slot."""
    rows = lake.lake.delta.session.sql(
        f"SELECT slot, id FROM delta.`{lake.lake.store.uri('silver', LOADED)}`"
    ).collect()
    assert len({row.slot for row in rows}) == len(rows)
    return {row.slot: row.id for row in rows}


def check(lake: FaultLake) -> None:
    for table in lake.tables.values():
        table.check()
    newest: dict[int, int] = {}
    for i in sorted(lake.tables[LOADED].rows):
        newest[slot(i)] = i
    assert silver(lake) == newest


def test_workers_without_shared_files_bring_every_row_although_their_executors_are_killed(
    lake: FaultLake, cluster: Cluster, servers: FaultServers
) -> None:
    loaded: Watched = lake.tables[LOADED]
    for table in lake.tables.values():
        table.put("a")
        table.put("b")
        table.mixed("c")
    lake.take_in()
    for table in lake.tables.values():
        table.run()
    lake.client(LOADED, merging=True).finished()
    for table in lake.tables.values():
        table.put("d")
        table.remove("a")
    lake.take_in()
    # An executor writes a file of the table: its request is on its way to S3 when both executors die.
    held = servers.proxy.hold("PUT", f"/{loaded.location().removeprefix('s3a://')}/.*part-")
    client = loaded.client()
    held.wait_caught(DEADLINE)
    for pid in cluster.executors():
        # What an executor sees: an own folder in place of the driver's, and jars that are not those of the driver.
        root = Path(f"/proc/{pid}/root")
        seen = {path.name for path in (root / cluster.driver.relative_to("/")).iterdir()}
        # The server's settings name a folder for temporary files, which each executor makes for itself.
        assert seen <= {"tmp"} < {path.name for path in cluster.driver.iterdir()}
        jar = next(jars_folder().glob("tidegate-*.jar"))
        assert (root / jar.relative_to("/")).stat().st_ino != jar.stat().st_ino
    cluster.kill_executors()
    held.release()
    client.finished()
    lake.tables[REGISTERED].run()
    lake.client(LOADED, merging=True).finished()
    check(lake)


def test_two_servers_work_on_the_same_tables_at_once(lake: FaultLake, servers: FaultServers) -> None:
    both = (None, servers.spark.remote)
    clients = [lake.client(name, rounds=ROUNDS, remote=remote) for name in lake.tables for remote in both]

    def all_are(what: str, i: int) -> Callable[[], bool]:
        def look() -> bool:
            there = len(list(lake.folder.glob(f"{what}-{i}-*"))) == len(clients)
            for client in clients:
                assert there or not client.failed, client.output()
            return there

        return look

    for i in range(ROUNDS):
        for table in lake.tables.values():
            table.put(f"e{i}")
            table.put(f"f{i}")
        lake.take_in()
        wait_until(all_are("ready", i), f"round {i} to begin")
        (lake.folder / f"go-{i}").touch()
        wait_until(all_are("done", i), f"the end of round {i}")
        merges = [lake.client(LOADED, merging=True, remote=remote) for remote in both]
        for merge in merges:
            merge.finished()
    for client in clients:
        client.finished()
    check(lake)


def test_a_server_that_is_killed_in_a_commit_hands_its_tables_on(lake: FaultLake, servers: FaultServers) -> None:
    loaded, home = lake.tables[LOADED], lake.servers.spark
    for table in lake.tables.values():
        table.put("g")
        table.remove("e0")
    lake.take_in()
    held = servers.proxy.hold("PUT", loaded.next_commit())
    client = lake.client(LOADED, chooses=True)
    held.wait_caught(DEADLINE)
    lake.move(servers.spark)
    assert home.process is not None
    home.process.kill()
    home.process.wait(DEADLINE)
    client.kill()
    held.release()
    runs = [lake.client(name, chooses=True) for name in lake.tables]
    for run in runs:
        run.finished()
    loaded.put("h")
    lake.take_in()
    lake.client(LOADED, chooses=True).finished()
    lake.client(LOADED, merging=True, chooses=True).finished()
    check(lake)
