"""`tidegate spark`, the real server, next to the server on which the tables were born."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.command_process import CommandProcess
from tidegate.platform.cli.commands.spark import NameKeeper
from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.session import isolated_session
from tidegate.platform.lake.spark.token_source import TOKEN_FILE, TokenSource
from tidegate.platform.lake.spark.value_settings import other_values, server_settings
from tidegate.platform.local.process.ports import free_port
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.testing import TestLake

SILVER = {"keys": ["id"], "order": "v", "every": 10}


def count(remote: SparkRemote, table: str) -> int:
    """Count as a client that knows nothing of Tidegate."""
    with isolated_session(remote) as session:
        return session.table(table).count()


def test_a_second_server_has_the_names_of_tables_that_were_born_on_the_first(
    tidegate_lake: Callable[..., TestLake], kit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [{"name": "named_first", "prefix": "a/", "format": "json", "mode": "load", "silver": SILVER},
              {"name": "named_later", "prefix": "b/", "format": "json", "mode": "load"}]  # fmt: skip
    lake = tidegate_lake(tables)
    lake.put("a/1.json", kit.lines({"id": 1, "v": 1}, {"id": 1, "v": 2}))
    kit.run(lake, "named_first")
    kit.merge(lake, "named_first")

    for name in [name for name in os.environ if name.startswith(("AWS_", "SPARK_", "TIDEGATE_"))]:
        monkeypatch.delenv(name)
    environ = {**lake.stack.aws.environ, "TIDEGATE_LAKE": str(lake.path), TOKEN_FILE: str(tmp_path / "token")}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    port = free_port()
    small = [text for name, value in SMALL_DATA.items() for text in ("--conf", f"{name}={value}")]
    command = ("spark", "--port", str(port), "--health-port", "0", "--memory", "1200m", "--master", "local[2]", *small)
    with CommandProcess(tmp_path / "log", *command, cwd=tmp_path) as running:
        running.wait_for("SQL names      of 1 table, 0 without", 120.0)
        remote = SparkRemote(f"sc://localhost:{port}", source=TokenSource(TOKEN_FILE, str(tmp_path / "token")))
        assert [count(remote, f"{schema}.named_first") for schema in ("bronze", "silver")] == [2, 1]
        assert other_values(server_settings(remote)) == {}

        said: list[str] = []
        names = NameKeeper(replace(Settings.from_environ(environ), spark=remote), said.append)
        names.name_new_tables()
        lake.put("b/1.json", kit.lines({"id": 1}))
        kit.run(lake, "named_later")
        for _ in range(2):
            names.name_new_tables()
        assert said == ["SQL names      of 1 table, 0 without", "SQL names      of 2 tables, 0 without"]
        assert count(remote, "bronze.named_later") == 1
        assert running.end(signal.SIGTERM) == 0
