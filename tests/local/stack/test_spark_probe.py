"""A dead Spark server is an error in seconds."""

from __future__ import annotations

import socket
import time

import pytest

from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.session import probe
from tidegate.platform.local.process.ports import LOOPBACK, free_port


def test_a_closed_port() -> None:
    began = time.monotonic()
    with pytest.raises(SparkUnreachable, match=r"no Spark Connect server at sc://.*tidegate up"):
        probe(SparkRemote(f"sc://{LOOPBACK}:{free_port()}"), 10.0)
    assert time.monotonic() - began < 5


def test_a_listener_that_never_answers() -> None:
    with socket.create_server((LOOPBACK, 0)) as silent:
        began = time.monotonic()
        with pytest.raises(SparkUnreachable, match="did not answer"):
            probe(SparkRemote(f"sc://{LOOPBACK}:{silent.getsockname()[1]}"), 1.5)
        assert time.monotonic() - began < 5
