"""Servers do not start on a full disk, and leave nothing there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake import disk
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.local.spark.deployment_server import DeployedServer, DeployedSettings
from tidegate.platform.local.stack import LocalStack


def test_no_server_starts_where_it_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tidegate dev`, `up` and each demo start the one, and `tidegate spark` the other."""
    monkeypatch.setattr(disk, "MIN_FREE", 1 << 62)
    home = tmp_path / "home"
    token = SparkRemote.from_environ({**os.environ, "SPARK_CONNECT_AUTHENTICATE_TOKEN": "a token"})
    for server in (
        LocalStack(home, aws_port=0, spark_port=0),
        DeployedServer(home, DeployedSettings("us-east-1", None), token),
    ):
        with pytest.raises(UnavailableError, match=rf"^the disk with {home} has .* with --home$"):
            server.start()
        assert not home.exists()
