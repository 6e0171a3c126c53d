"""Separate servers for the fault tests, which kill them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.support.lakes.harness import PROXIED, FaultLake, FaultServers, Watched
from tests.support.lakes.seams import seams_watched
from tests.support.log_store.arena import Arena
from tests.support.log_store.delta_log import DeltaLog
from tests.support.log_store.log_store_process import LogStoreProcess
from tests.support.plugins.proxied_aws import ProxiedAws
from tests.support.servers.client import DEADLINE
from tidegate.platform.core.config.commits import Commits
from tidegate.platform.local.aws import LocalAws

MakeLake = Callable[..., FaultLake]
GetTable = Callable[[str], Watched]
#: Tables of each kind that the tests of a module take from one lake.
_MAX_TABLES = 4


@pytest.fixture(scope="session", autouse=True)
def _seams() -> Iterator[None]:
    """Run in this process may die or stop at their seams."""
    with seams_watched():
        yield


@pytest.fixture(scope="session")
def servers(local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory, commits: Commits) -> Iterator[FaultServers]:
    found = FaultServers(tmp_path_factory.mktemp("fault-servers"), local_aws, commits)
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="module")
def make_lake(servers: FaultServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeLake]:
    """Make lakes with tables of these names. All their processes have ended after the module."""
    with ExitStack() as closing:

        def make(*tables: str, name: str | None = None, merged: Iterable[str] = ()) -> FaultLake:
            folder = tmp_path_factory.mktemp("lake")
            lake = FaultLake(servers, folder, name or uuid.uuid4().hex[:8], tables, merged)
            closing.callback(lake.close)
            return lake

        yield make


@pytest.fixture
def lake(make_lake: MakeLake) -> Iterator[FaultLake]:
    """Yield a lake with a registered and a loaded table."""
    found = make_lake("reg", "load")
    yield found
    found.close()


@pytest.fixture(scope="module")
def unused(make_lake: MakeLake) -> GetTable:
    """Give a table of a kind that no earlier test of the module used, of one lake: each lake costs a session."""
    return _tables(make_lake, None)


@pytest.fixture(scope="module")
def proxied(make_lake: MakeLake) -> GetTable:
    """Give such a table of the lake whose S3 requests from Spark pass through the proxy."""
    return _tables(make_lake, PROXIED)


def _tables(make_lake: MakeLake, name: str | None) -> GetTable:
    @cache
    def lake() -> FaultLake:
        tag = uuid.uuid4().hex[:6]
        return make_lake(*(f"{kind}_{tag}{n}" for kind in ("reg", "load") for n in range(_MAX_TABLES)), name=name)

    taken: set[str] = set()

    def table(kind: str) -> Watched:
        found = next(table for table in lake().tables if table.startswith(kind) and table not in taken)
        taken.add(found)
        return lake().tables[found]

    return table


@pytest.fixture(scope="session")
def log_stores(proxied_services: ProxiedAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LogStoreProcess]:
    """Yield the process of all log stores that are neither killed nor paused."""
    folder = tmp_path_factory.mktemp("log-stores")
    with LogStoreProcess(folder, "s3a://none", proxied_services.environ) as process:
        yield process.wait_ready(DEADLINE)


@pytest.fixture
def arena(log_stores: LogStoreProcess, proxied_aws: ProxiedAws, tmp_path: Path) -> Iterator[Arena]:
    with ExitStack() as closing:
        yield Arena(tmp_path, proxied_aws, closing, log_stores)


@pytest.fixture
def log(proxied_aws: ProxiedAws) -> DeltaLog:
    return proxied_aws.new_log()
