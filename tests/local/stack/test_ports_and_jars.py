"""A missing requirement or a port in use is reported in one sentence, before any process starts."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.fake_java import fake_java
from tidegate.platform.cli import environment
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local import stack
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.process.ports import (
    BYPASS_PROXY,
    LOOPBACK,
    accepts_connections,
    bypass_proxy,
    free_port,
    hold_for_localhost,
    require_free,
)
from tidegate.platform.local.process.supervisor import Supervisor
from tidegate.platform.local.provision import Clients
from tidegate.platform.local.spark.jars import OWN_JAR
from tidegate.platform.local.spark.server import SparkServer
from tidegate.platform.local.stack import LocalStack


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server((LOOPBACK, 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jars").mkdir()
    for name in ("delta-spark_x.jar", OWN_JAR):
        (tmp_path / "jars" / name).touch()
    monkeypatch.setenv("TIDEGATE_JARS", str(tmp_path / "jars"))


def test_a_free_port_is_free() -> None:
    port = free_port()
    require_free(port, "test", "--port")
    assert not accepts_connections(port, 0.5)


def test_a_taken_port_names_what_and_the_option(taken: int) -> None:
    with pytest.raises(UnavailableError, match=rf"port {taken} \(local AWS\) is in use .*--aws-port"):
        require_free(taken, "local AWS", "--aws-port")
    assert accepts_connections(taken, 0.5)


def test_aws_refuses_a_taken_port(taken: int, tmp_path: Path) -> None:
    aws = LocalAws(tmp_path, taken)
    with pytest.raises(UnavailableError, match="--aws-port"):
        aws.start()
    assert aws.process is None


@pytest.mark.parametrize(
    ("given", "direct"),
    [
        ({}, "127.0.0.1,localhost"),
        ({"NO_PROXY": "corp.example, localhost"}, "corp.example,localhost,127.0.0.1"),
        ({"no_proxy": "a.example", "NO_PROXY": "b.example"}, "a.example,b.example,127.0.0.1,localhost"),
        ({"NO_PROXY": "*"}, "*"),
    ],
)
def test_a_proxy_in_front_of_everything_is_not_asked_for_loopback(
    given: dict[str, str], direct: str, local_aws: LocalAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that reaches the package index through a proxy has such variables."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, given.get(name, ""))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    shell = subprocess.run(["sh", "-uc", f"{BYPASS_PROXY}env"], stdout=subprocess.PIPE, text=True, check=True).stdout
    bypass_proxy()
    bypass_proxy()
    assert (os.environ["no_proxy"], os.environ["NO_PROXY"]) == (direct, direct)
    environ = local_aws.environ
    keys = {"key": environ["AWS_ACCESS_KEY_ID"], "secret": environ["AWS_SECRET_ACCESS_KEY"]}
    assert Clients.connect(local_aws.endpoint, REGION, **keys).s3.list_buckets()["ResponseMetadata"]
    said = {line.partition("=")[0]: line.partition("=")[2] for line in shell.splitlines()}
    assert said["no_proxy"] == said["NO_PROXY"]
    assert said["no_proxy"] == "*" or said["no_proxy"].endswith("127.0.0.1,localhost")


def test_a_platform_and_its_clients_ask_no_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()
    monkeypatch.setattr(stack, "bypass_proxy", lambda: asked.append("platform"))
    monkeypatch.setattr(environment, "bypass_proxy", lambda: asked.append("client"))
    monkeypatch.setattr(LocalStack, "_start_servers", lambda _: None)
    monkeypatch.setattr(Supervisor, "start", lambda _: None)
    with LocalStack(tmp_path, aws_port=0, spark_port=0):
        assert environment.client(tmp_path).home == tmp_path
        assert BYPASS_PROXY in (tmp_path / "environment.sh").read_text()
    assert asked == ["platform", "client"]


@pytest.mark.usefixtures("jars")
def test_spark_refuses_a_taken_port(taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, "17.0.1")))
    server = SparkServer(tmp_path, LocalAws(tmp_path, 1).environ, port=taken)
    with pytest.raises(UnavailableError, match=r"Spark Connect server.*--spark-port"):
        server.start()
    assert server.process is None


@pytest.mark.usefixtures("jars")
def test_nobody_else_is_what_clients_of_localhost_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token is sent to the name `localhost`, of which gRPC tries the loopback of IPv6 first."""
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, "17.0.1")))
    port = free_port()
    if hold_for_localhost(port, "test", "--port") is None:
        with pytest.raises(OSError, match=r"."):  # no client reaches it either
            socket.create_server(("::1", port), family=socket.AF_INET6)
        return
    with socket.create_server(("::1", port), family=socket.AF_INET6):
        server = SparkServer(tmp_path, LocalAws(tmp_path, 1).environ, port=port)
        with pytest.raises(UnavailableError, match=r"Spark Connect server.*::1.*--spark-port"):
            server.start()
        assert server.process is None
    held = hold_for_localhost(port, "test", "--port")
    assert held is not None
    with held:
        for address in ("::1", "::"):
            with socket.socket(socket.AF_INET6) as other:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                with pytest.raises(OSError, match="in use"):
                    other.bind((address, port))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("::1", port), 1.0)
        with socket.create_server((LOOPBACK, port)):
            assert accepts_connections(port, 0.5)


def test_a_stack_without_jars_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_JARS", str(tmp_path))
    stack = LocalStack(tmp_path / "home", aws_port=0, spark_port=0)
    with pytest.raises(UnavailableError, match="jars are missing"):
        stack.start()
    assert stack.aws.process is None
    assert not (tmp_path / "home").exists()
