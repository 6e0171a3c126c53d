"""A command opens its lake in one way, which says what to do if the lake cannot be reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.platform.cli.environment import Client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.lake.settings import LAKE, Settings
from tidegate.platform.lake.spark.remote import REMOTE
from tidegate.platform.lake.spark.server_errors import SparkUnreachable

SERVERS = {REMOTE: "sc://127.0.0.1:1", "AWS_REGION": "eu-west-1"}


def of(lake_yaml: Path, home: Path | None = None) -> Client:
    return Client(Settings.from_environ({**SERVERS, LAKE: str(lake_yaml)}), home)


def opened(client: Client, problem: Exception | None = None) -> str:
    """Open a lake, and let the work on it fail. Returns the root of the lake."""
    with client.open_lake() as lake:
        if problem:
            raise problem
        return lake.config.lake.root


def test_a_wrong_configuration_says_which_platform_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"lake\.yaml(.|\n)*no local platform runs on .*--home names another"):
        opened(of(tmp_path / "lake.yaml"))
    with pytest.raises(CommandError) as of_a_platform:
        opened(of(tmp_path / "lake.yaml", tmp_path))
    assert "no local platform" not in str(of_a_platform.value)


def test_a_server_that_is_lost_while_a_command_works_is_explained(tmp_path: Path) -> None:
    lake_yaml = tmp_path / "lake.yaml"
    lake_yaml.write_text("lake: {root: s3://acme-lake/x}\nqueues: [{name: events}]\nbuckets: [acme]\ntables: []\n")
    assert opened(of(lake_yaml)) == "s3://acme-lake/x"
    with pytest.raises(CommandError, match="no Spark Connect server"):
        opened(of(lake_yaml), SparkUnreachable("no Spark Connect server at sc://127.0.0.1:1"))
