"""Which of several Spark servers a handle on a lake has, and what one that is gone costs."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.spark_address import order_servers
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.spark import delta, server_choice
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_choice import ServerChoice
from tidegate.platform.lake.spark.server_errors import SparkSilent, SparkUnreachable, TokenRefused
from tidegate.platform.lake.spark.token_source import TOKEN, TOKEN_FILE, TokenSource
from tidegate.resources import lake_resource
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource

LAKE = "lake: {root: s3://lake/root}\nqueues: [{name: q}]\nbuckets: [landing]\n"
REMOTES = [SparkRemote.parse(f"sc://spark-{n}:15002") for n in range(3)]
NAMES = list(map(str, REMOTES))
SEVERAL = f"{LAKE}spark: {{servers: {NAMES}}}\n"


class Servers:
    """Servers of which some are gone. Time passes only by hand."""

    def __init__(self) -> None:
        self.gone: set[str] = set()
        self.asked: list[str] = []
        self.now = 0.0

    def probe(self, remote: SparkRemote, deadline: float) -> str:
        assert deadline <= 2.0
        self.asked.append(str(remote))
        if str(remote) in self.gone:
            raise SparkUnreachable(f"no server at {remote}")
        return "4.2.0"

    def questions(self) -> list[str]:
        """Return the servers that were asked since the last call."""
        asked, self.asked = self.asked, []
        return asked


@contextmanager
def stood_in() -> Iterator[Servers]:
    found = Servers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_choice, "probe", found.probe)
        patch.setattr(server_choice, "time", SimpleNamespace(monotonic=lambda: found.now))
        patch.setattr(server_choice, "_silent", {})
        yield found


@pytest.fixture
def servers() -> Iterator[Servers]:
    with stood_in() as found:
        yield found


@given(st.text(max_size=20), st.sets(st.sampled_from(NAMES)))
def test_a_table_has_the_first_server_of_its_order_that_answers(table: str, gone: set[str]) -> None:
    order = order_servers(table, NAMES)
    alive = [name for name in order if name not in gone]
    with stood_in() as found:
        found.gone = gone
        choice = ServerChoice(REMOTES, table)
        assert choice.server_of(table) == order[0], "who requests a run asks no server"
        assert found.questions() == []
        if alive:
            assert str(choice.obtain()) == alive[0]
            assert found.questions() == order[: order.index(alive[0]) + 1]
        else:
            with pytest.raises(SparkUnreachable, match=r"none of the 3 Spark servers of lake\.yaml can") as error:
                choice.obtain()
            assert all(f"no server at {name}" in str(error.value) for name in NAMES)


def test_a_handle_keeps_its_server_although_that_is_lost_and_the_next_one_has_another(servers: Servers) -> None:
    """What the session of the lost server had is on no other. The run sees the loss, and the next run moves."""
    first, second, _ = order_servers("landing.orders", NAMES)
    choice = ServerChoice(REMOTES, "landing.orders")
    assert str(choice.obtain()) == first
    servers.gone = {first}
    assert str(choice.obtain()) == first
    assert str(ServerChoice(REMOTES, "landing.orders").obtain()) == second
    choice.release()
    assert str(choice.obtain()) == second


def test_a_process_asks_a_silent_server_once_in_half_a_minute(servers: Servers) -> None:
    home = order_servers("landing.orders", NAMES)[0]
    servers.gone = {home}
    for _ in range(10):
        ServerChoice(REMOTES, "landing.orders").obtain()
    assert servers.questions().count(home) == 1
    servers.gone, servers.now = set(), 29.9
    assert str(ServerChoice(REMOTES, "landing.orders").obtain()) != home
    servers.now = 30.1
    assert str(ServerChoice(REMOTES, "landing.orders").obtain()) == home, "its tables come back"
    servers.gone = set(NAMES)
    for _ in range(2):
        servers.questions()
        with pytest.raises(SparkUnreachable):
            ServerChoice(REMOTES, "landing.orders").obtain()
        assert sorted(servers.questions()) == sorted(NAMES), "if all were silent, each may be back"


def test_a_machine_that_answers_nothing_costs_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes connections, or drops every packet, and PySpark's own client would wait for ten minutes."""
    monkeypatch.setattr(server_choice, "_ANSWERS_WITHIN", 0.2)
    monkeypatch.setattr(server_choice, "_BUSY_ANSWERS_WITHIN", 0.3)
    monkeypatch.setattr(server_choice, "_silent", {})
    with socket.create_server(("127.0.0.1", 0)) as hung, socket.create_server(("127.0.0.1", 0)) as other:
        remotes = [SparkRemote.parse(f"sc://127.0.0.1:{each.getsockname()[1]}") for each in (hung, other)]
        began = time.monotonic()
        with pytest.raises(
            SparkUnreachable, match=r"did not answer as a Spark Connect server within 0\.3 s: check spark\.servers"
        ):
            ServerChoice([replace(remote, listed=True) for remote in remotes]).obtain()
    assert time.monotonic() - began < 5


def test_servers_that_are_busy_have_the_time_of_an_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """All may be at work for some seconds at once. One that refuses connections is not asked again."""
    asked: list[tuple[str, float]] = []

    def probe(remote: SparkRemote, deadline: float) -> str:
        asked.append((str(remote), deadline))
        if str(remote) == NAMES[0]:
            raise SparkUnreachable("no server")
        if deadline < 5:
            raise SparkSilent("busy")
        return "4.2.0"

    monkeypatch.setattr(server_choice, "probe", probe)
    monkeypatch.setattr(server_choice, "_silent", {})
    assert str(ServerChoice(REMOTES).obtain()) == NAMES[1]
    assert asked == [(NAMES[0], 2.0), (NAMES[1], 2.0), (NAMES[2], 2.0), (NAMES[1], 5.0)]


def test_trouble_with_the_token_silences_no_server(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another lake of this process may have a token that is right. And one that cannot be read is read once."""
    refused = Mock(side_effect=TokenRefused("refuses this client"))
    monkeypatch.setattr(server_choice, "probe", refused)
    with pytest.raises(SparkUnreachable, match="refuses this client"):
        ServerChoice(REMOTES).obtain()
    assert server_choice._silent == {}
    source = SimpleNamespace(read=Mock(side_effect=SparkUnreachable("the command failed")))
    remotes = [replace(remote, source=cast(TokenSource, source)) for remote in REMOTES]
    with pytest.raises(SparkUnreachable, match=r"^the command failed$"):
        ServerChoice(remotes).obtain()
    assert (source.read.call_count, refused.call_count) == (1, 3)


def test_lake_yaml_lists_them_unless_the_environment_names_one(tmp_path: Path) -> None:
    path, token = tmp_path / "lake.yaml", tmp_path / "token"
    path.write_text(SEVERAL)
    token.write_text("t0ken")

    def found(environ: dict[str, str]) -> Any:
        using = Settings(path, SparkRemote.from_environ(environ), Aws.from_environ({"AWS_REGION": "us-east-1"}), {})
        return using.spark_server(using.config())

    assert found({}).find() == REMOTES
    assert [remote.url for remote in found({TOKEN: "x"}).find()] == [f"{name}/;token=x" for name in NAMES]
    assert [remote.url for remote in found({TOKEN_FILE: str(token)}).find()] == [f"{n}/;token=t0ken" for n in NAMES]
    assert found({"SPARK_REMOTE": "sc://other:1"}) == SparkRemote.parse("sc://other:1")
    path.write_text(f"{LAKE}spark: {{servers: ['sc://alone:1']}}\n")
    assert found({TOKEN: "x"}) == SparkRemote.parse("sc://alone:1", "x"), "one is a server like any other"


def test_the_session_of_a_run_is_one_of_the_server_of_its_table(
    tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PySpark would return the session that this process has, whatever server that is of."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1")
    (tmp_path / "lake.yaml").write_text(SEVERAL)
    released: list[tuple[str, SparkRemote]] = []
    monkeypatch.setattr(delta, "probe", lambda remote: None)
    monkeypatch.setattr(delta, "apply_settings", lambda session, settings: None)
    monkeypatch.setattr(lake_resource, "own_session", lambda remote: f"session of {remote}")
    monkeypatch.setattr(lake_resource, "release", lambda *made: released.append(made))
    resource = LakeResource(lake_yaml=str(tmp_path / "lake.yaml"), aws=AwsResource())
    tables = [f"landing.t{n}" for n in range(9)]
    homes = [order_servers(table, NAMES)[0] for table in tables]
    assert len(set(homes)) == 3
    sessions = [resource.open(table).delta.session for table in tables]
    assert sessions == [f"session of {home}" for home in homes]
    assert resource.open().delta.session == f"session of {NAMES[0]}", "other work"
    resource.teardown_after_execution(None)  # type: ignore[arg-type]
    assert sorted(str(remote) for _, remote in released) == sorted([*homes, NAMES[0]])
