"""A server that is started for work, with processes: two clients at once, an end, a kill, a start that fails."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.command_process import _ROOT, _SMALL
from tidegate.platform.core.config.spark import SparkSpec
from tidegate.platform.lake.spark import on_demand
from tidegate.platform.lake.spark.on_demand import ServerOnDemand
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable, TokenRefused
from tidegate.platform.lake.spark.server_home import ACCEPTED, LOG, TOKEN_NAME, USERS
from tidegate.platform.lake.spark.session import probe
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.local.process.ports import free_port

pytestmark = pytest.mark.timeout(180)

LAKE = {"lake": {"root": "s3://nobody-made-it/lake"}, "queues": [{"name": "q"}], "buckets": ["landing"]}
Make = Callable[..., ServerOnDemand]


@pytest.fixture
def client(local_aws: LocalAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Yield a function that makes a client of one lake. The small server replaces Spark's, and idles for a second."""
    (tmp_path / "lake.yaml").write_text(json.dumps(LAKE))
    spec, environ = SparkSpec(start="on_demand", port=free_port()), {**os.environ, **local_aws.environ}
    environ = {name: text for name, text in environ.items() if not name.startswith(("SPARK_", "TIDEGATE_SPARK_"))}
    whole = ServerOnDemand.command_line

    def small(self: ServerOnDemand) -> list[str]:
        words = whole(self)
        words[words.index("-m") : words.index("spark")] = _SMALL
        words[words.index("--idle") + 1] = "3"
        return [sys.executable, *words[1:]]

    monkeypatch.setattr(ServerOnDemand, "command_line", small)

    def make(**more: Any) -> ServerOnDemand:
        given = {**environ, "PYTHONPATH": str(_ROOT), **more}
        return ServerOnDemand(spec, tmp_path / "lake.yaml", given)

    yield make
    for process in on_demand._started:
        process.terminate()
        process.wait(30)
    on_demand._started.clear()


def starts() -> int:
    return len(on_demand._started)


def test_clients_that_come_at_once_have_one_server_which_ends_when_none_is_left(
    client: Make, until: Callable[..., bool]
) -> None:
    clients = [client() for _ in range(4)]
    before = starts()
    with ThreadPoolExecutor(4) as pool:
        remotes = list(pool.map(lambda each: each.obtain(), clients))
    assert starts() == before + 1
    (process,) = on_demand._started
    assert len({remote.url for remote in remotes}) == 1
    assert probe(remotes[0]) == "4.2.0-small"
    assert "ends when nobody has used it for 300 s" in client().describe()
    for each in clients[1:]:
        each.release()
    time.sleep(5)
    assert process.poll() is None, "a merge that is longer than the idle time keeps its server"
    assert probe(remotes[0]) == "4.2.0-small"
    clients[0].release()
    assert until(lambda: process.poll() is not None, 60.0)
    assert process.returncode == 0
    assert "stopped, because nobody used it for 3 s" in (clients[0].home.folder / LOG).read_text()
    assert client().describe() == "not running, because there is no work; the next run starts it"


def test_a_client_that_comes_while_the_server_ends_starts_it_again(client: Make) -> None:
    first = client()
    first.obtain()
    (process,) = on_demand._started
    first.release()
    # From the moment in which it holds the lock for longer than it needs to try it, the server lets nobody in. A client
    # that tries the lock uses the server, so there are pauses in which it can find that nobody does.
    end = time.monotonic() + 120.0
    while lock := first.home.take(USERS, fcntl.LOCK_SH, time.monotonic() + 0.1):
        lock.close()
        assert time.monotonic() < end
        time.sleep(0.2)
    late = client()
    assert probe(late.obtain()) == "4.2.0-small"
    assert process.poll() == 0, "the first one has ended"
    assert (late.home.folder / f"{LOG}.1").exists()


def test_a_token_that_is_replaced_ends_no_work_and_is_that_of_the_next_server(
    client: Make, until: Callable[..., bool]
) -> None:
    first, late = client(), client()
    remote = first.obtain()
    (process,) = on_demand._started
    token, accepted = (first.home.folder / name for name in (TOKEN_NAME, ACCEPTED))
    old = token.read_text().strip()
    assert (accepted.read_text().strip(), accepted.stat().st_mode & 0o777) == (old, 0o600)
    token.write_text("another-token\n")
    assert probe(late.obtain()) == probe(remote) == "4.2.0-small", "a run that begins now does not fail"
    late.release()
    time.sleep(2)
    assert process.poll() is None, "a run that is under way keeps its server"
    first.release()
    assert until(lambda: process.poll() is not None, 60.0)
    assert "stopped, because its token was replaced" in (first.home.folder / LOG).read_text()
    remote = late.obtain()
    assert starts() == 1
    assert probe(remote) == "4.2.0-small"
    assert accepted.read_text() == "another-token\n"
    with pytest.raises(TokenRefused):
        probe(SparkRemote(remote.address, old))


@pytest.mark.parametrize("killed", ["its command", "Spark"])
def test_a_server_that_was_killed_is_started_by_the_next_client(killed: str, client: Make) -> None:
    first = client()
    first.obtain()
    (process,) = on_demand._started
    below = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    guard = int(below[0])
    server = int(Path(f"/proc/{guard}/task/{guard}/children").read_text().split()[0])
    os.kill(process.pid if killed == "its command" else server, signal.SIGKILL)
    process.wait(30)
    began = time.monotonic()
    second = client()
    assert probe(second.obtain()) == "4.2.0-small"
    assert starts() == 1, "the one that was killed is not kept"
    assert time.monotonic() - began < 60, "nobody waits for a lock or a file that it left behind"
    first.release()


def test_a_start_that_fails_is_a_sentence_with_the_end_of_the_log(client: Make) -> None:
    with pytest.raises(SparkUnreachable) as failed:
        client(AWS_REGION="", AWS_DEFAULT_REGION="").obtain()
    first, *rest = str(failed.value).splitlines()
    assert first.endswith(f"ended at its start with exit code 1; see {client().home.folder / LOG}")
    assert rest[-1].startswith("error: no region: set AWS_REGION")
    assert client().describe() == "not running, because there is no work; the next run starts it"
    assert probe(client().obtain()) == "4.2.0-small", "the next one starts it, once that is corrected"


def test_a_port_of_somebody_else_is_named_and_its_process_left_alone(
    client: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_demand, "_ENDS_WITHIN", 0.5)
    taker = client()
    with (
        socket.create_server(("127.0.0.1", taker._spec.port)),
        pytest.raises(SparkUnreachable, match=r"port \d+ is in use, and not by the Spark server of"),
    ):
        taker.obtain()
    assert starts() == 0
