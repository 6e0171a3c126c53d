"""What a server that is started for work gets, and who starts none. Starting it is tested with processes."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidegate.platform.core.config.spark import SparkSpec
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.spark import on_demand
from tidegate.platform.lake.spark.on_demand import ServerOnDemand, tail_of
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_command import ServerByCommand
from tidegate.platform.lake.spark.server_errors import SparkUnreachable, TokenRefused
from tidegate.platform.lake.spark.server_home import USERS, announce
from tidegate.platform.local.process.ports import free_port
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource

LAKE = "lake: {root: s3://lake/root}\nqueues: [{name: q}]\nbuckets: [landing]\n"


@pytest.fixture(autouse=True)
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each start of a process fail the test."""

    def refuse(*_: Any, **__: Any) -> Any:
        pytest.fail("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1")


def server(tmp_path: Path, **more: Any) -> ServerOnDemand:
    return ServerOnDemand(SparkSpec(start="on_demand", **more), tmp_path / "lake.yaml", {})


def settings(tmp_path: Path, text: str, remote: SparkRemote | None = None) -> Settings:
    (tmp_path / "lake.yaml").write_text(LAKE + text)
    remote = remote or SparkRemote.from_environ({})
    return Settings(tmp_path / "lake.yaml", remote, Aws.from_environ({"AWS_REGION": "us-east-1"}), {})


def test_lake_yaml_says_where_the_server_comes_from_unless_the_environment_does(tmp_path: Path) -> None:
    def found(text: str, remote: SparkRemote | None = None) -> Any:
        using = settings(tmp_path, text, remote)
        return using.spark_server(using.config())

    assert found("") == SparkRemote.parse("sc://localhost:15002")
    assert isinstance(found("spark: {start: on_demand}\n"), ServerOnDemand)
    assert isinstance(found("spark: {start: command, command: [x]}\n"), ServerByCommand)
    named = SparkRemote.from_environ({"SPARK_REMOTE": "sc://spark.internal:443"})
    assert found("spark: {start: on_demand}\n", named) is named


def test_a_handle_on_a_lake_and_what_only_looks_start_nothing(tmp_path: Path) -> None:
    using = settings(tmp_path, "spark: {start: on_demand}\n")
    with using.open_lake() as lake:
        assert not lake.delta.server.is_always_there
        assert lake.delta.server.find() == []
        assert lake.delta.server.describe() == "not running, because there is no work; the next run starts it"
    resource = LakeResource(lake_yaml=str(tmp_path / "lake.yaml"), aws=AwsResource())
    assert isinstance(resource.open().delta.server, ServerOnDemand)
    assert not (tmp_path / ".tidegate").exists()


def test_a_resource_that_names_a_server_uses_that_one(tmp_path: Path) -> None:
    settings(tmp_path, "spark: {start: on_demand}\n")
    resource = LakeResource(lake_yaml=str(tmp_path / "lake.yaml"), spark_remote="sc://127.0.0.1:1", aws=AwsResource())
    assert resource.open().delta.server == SparkRemote.parse("sc://127.0.0.1:1")


def test_the_words_for_a_server_follow_its_locks(tmp_path: Path) -> None:
    found = server(tmp_path, idle=60)
    lock = found.home.claim()
    assert found.describe() == "starting, or ending"
    assert found.find() == []
    announce(lock, 1)
    assert found.describe() == "running on port 1; ends when nobody has used it for 60 s"
    assert found.find() == [], "it does not answer"
    assert found.home.take(USERS, 2, 0.0) is not None, "who did not find it does not use it"


def test_a_running_server_is_used_until_it_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_demand, "probe", lambda remote: "4.2.0")
    found = server(tmp_path)
    announce(found.home.claim(), 15010)
    lock = found.home.claim()
    announce(lock, 15010)
    found.home.write_accepted("token")
    remote = found.obtain()
    assert (remote.address, str(remote.source)) == (
        "sc://localhost:15010",
        f"TIDEGATE_SPARK_TOKEN_FILE ({tmp_path}/.tidegate/spark-on-demand/accepted)",
    )
    assert found.obtain() is remote
    assert found.home.take(USERS, 2, 0.0) is None
    found.release()
    found.release()
    assert found.home.take(USERS, 2, 0.0) is not None


def test_a_server_gets_the_settings_of_lake_yaml_and_a_token_of_its_own(tmp_path: Path) -> None:
    spec = SparkSpec(start="on_demand", idle=60, port=15010, home="/var/lib/spark", memory="4g", conf_file="spark.conf")
    environ = {"AWS_REGION": "us-east-1", "SPARK_REMOTE": "", "SPARK_CONNECT_AUTHENTICATE_TOKEN": "secret"}
    environ |= {"TIDEGATE_SPARK_TOKEN_COMMAND": "print-secret"}
    found = ServerOnDemand(spec, tmp_path / "lake.yaml", environ)
    assert found.command_line() == [
        *(sys.executable, "-P", "-m", "tidegate.platform.cli.main", "spark"),
        *("--lake", f"{tmp_path}/lake.yaml", "--home", "/var/lib/spark", "--port", "15010"),
        *("--health-port", "0", "--idle", "60", "--memory", "4g", "--conf-file", f"{tmp_path}/spark.conf"),
    ]
    assert found.server_variables() == {
        "AWS_REGION": "us-east-1",
        "TIDEGATE_SPARK_TOKEN_FILE": "/var/lib/spark/token",
        "PYTHONUNBUFFERED": "1",
    }
    assert "--memory" not in server(tmp_path).command_line()


def test_a_client_with_a_session_of_a_person_uses_a_server_and_starts_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_demand, "probe", lambda remote: "4.2.0")
    monkeypatch.setattr(on_demand, "_STARTS_WITHIN", 1.0)
    environ = {"AWS_SESSION_TOKEN": "s3cr3t"}
    found = ServerOnDemand(SparkSpec(start="on_demand", port=free_port()), tmp_path / "lake.yaml", environ)
    with pytest.raises(SparkUnreachable, match=r"AWS_SESSION_TOKEN .*a run of Dagster.*SPARK_REMOTE") as refused:
        found.obtain()
    assert "s3cr3t" not in str(refused.value)
    assert "\n" not in str(refused.value)
    lock = found.home.claim()
    announce(lock, 15010)
    found.home.write_accepted("token")
    assert found.obtain().address == "sc://localhost:15010"


def test_the_folder_is_next_to_the_link_to_lake_yaml_that_each_release_replaces(tmp_path: Path) -> None:
    (tmp_path / "releases/7").mkdir(parents=True)
    (tmp_path / "releases/7/lake.yaml").write_text(LAKE)
    (tmp_path / "lake.yaml").symlink_to("releases/7/lake.yaml")
    found = server(tmp_path, home="spark")
    assert found.home.folder == tmp_path / "spark"
    assert f"{tmp_path}/lake.yaml" in found.command_line()


def test_a_server_has_no_secret_that_only_dagster_and_webhooks_need(tmp_path: Path) -> None:
    more = (
        "spark: {start: on_demand}\n"
        "forget: {secret: {env: ACME_FORGET}}\n"
        "tables: [{name: orders, row_queue: {name: orders-rows}}]\n"
        "webhooks:\n"
        "  - {name: shop, queue: orders-rows, verification: shopify, secrets: [{env: SHOP_NEW}, {env: SHOP_OLD}]}\n"
        "  - {name: bill, queue: orders-rows, verification: secret, secrets: [{file: /run/secrets/bill}]}\n"
    )
    environ = {"AWS_REGION": "us-east-1", "ACME_FORGET": "a", "SHOP_NEW": "b", "SHOP_OLD": "c", "SHOP": "d"}
    using = replace(settings(tmp_path, more), environ=environ)
    found = using.spark_server(using.config())
    assert isinstance(found, ServerOnDemand)
    assert set(found.server_variables()) == {
        *("AWS_REGION", "SHOP"),
        *("TIDEGATE_SPARK_TOKEN_FILE", "PYTHONUNBUFFERED"),
    }


@pytest.mark.parametrize("token", [None, "another"])
def test_a_server_whose_token_this_client_lacks_is_named_at_once(
    token: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(remote: SparkRemote) -> str:
        raise TokenRefused(f"the Spark Connect server at {remote} refuses this client")

    monkeypatch.setattr(on_demand, "probe", refuse)
    monkeypatch.setattr(on_demand, "_STARTS_WITHIN", 1.0)
    found = server(tmp_path)
    lock = found.home.claim()
    announce(lock, 15010)
    if token:
        found.home.write_accepted(token)
    why = "refuses this client" if token else "token.* cannot be read"
    with pytest.raises(SparkUnreachable, match=rf"on port 15010 .*{why}.*another `home`"):
        found.obtain()
    assert found.find() == []
    assert found.home.take(USERS, 2, 0.0) is not None


def test_a_server_that_does_not_end_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_demand, "_ENDS_WITHIN", 0.1)
    found = server(tmp_path)
    ending = found.home.take(USERS, 2, 0.0)
    assert ending is not None
    with pytest.raises(SparkUnreachable, match="has not ended for 0 s, although nobody used it: end its process"):
        found.obtain()


def test_a_port_of_another_process_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_demand, "_ENDS_WITHIN", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found = server(tmp_path, port=taken.getsockname()[1])
        with pytest.raises(SparkUnreachable, match=r"is in use, and not by the Spark server of .* another `port`"):
            found.obtain()


def test_the_end_of_a_log_is_a_few_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert tail_of(log) == ""
    log.write_text("\n".join(map(str, range(100_000))))
    assert tail_of(log).splitlines() == list(map(str, range(99_988, 100_000)))
