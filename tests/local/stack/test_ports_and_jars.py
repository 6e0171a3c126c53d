"""A missing requirement or a port in use is reported in one sentence, before any process starts."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.fake_java import fake_java
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.local.process.ports import (
    LOOPBACK,
    accepts_connections,
    free_port,
    hold_for_localhost,
    require_free,
)
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
