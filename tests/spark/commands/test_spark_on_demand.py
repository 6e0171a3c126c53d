"""A real server that is started for work: by two commands at once, with names, for a long merge, and again."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.plugins.processes import eventually, gone
from tests.support.servers.command_process import CommandProcess
from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.spark import on_demand
from tidegate.platform.lake.spark.on_demand import ServerOnDemand
from tidegate.platform.lake.spark.server_home import LOG
from tidegate.platform.local.process.ports import free_port
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.silver.merge import merge_table
from tidegate.platform.testing import TestLake

SILVER = {"keys": ["id"], "order": "v", "every": 10}
_IDLE = 10


def server_pid(home: Path) -> int:
    """Return the process that runs the server of a home: the one whose command line names it."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and not gone(int(entry.name)):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"spark" in words and str(home).encode() in words:
                return int(entry.name)
    raise AssertionError(f"no server of {home} runs")


@pytest.mark.timeout(600)
def test_a_lake_whose_server_is_there_only_for_work_loses_nothing(
    tidegate_lake: Callable[..., TestLake], kit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([{"name": "seldom", "prefix": "a/", "format": "json", "mode": "load", "silver": SILVER}])
    lake.put("a/1.json", kit.lines({"id": 1, "v": 1}, {"id": 1, "v": 2}, {"id": 2, "v": 1}))
    kit.run(lake, "seldom")
    for name in [name for name in os.environ if name.startswith(("AWS_", "SPARK_", "TIDEGATE_"))]:
        monkeypatch.delenv(name)
    (tmp_path / "spark.conf").write_text("".join(f"{name}={value}\n" for name, value in SMALL_DATA.items()))
    spark = {"start": "on_demand", "idle": _IDLE, "port": free_port(), "memory": "1200m", "conf_file": "spark.conf"}
    given = {**yaml.safe_load(lake.path.read_text()), "spark": spark}
    (tmp_path / "lake.yaml").write_text(yaml.safe_dump(given))
    environ = {**os.environ, **lake.stack.aws.environ, "TIDEGATE_LAKE": str(tmp_path / "lake.yaml")}
    settings = Settings.from_environ(environ)
    home = tmp_path / ".tidegate" / "spark-on-demand"

    def query(log: str) -> CommandProcess:
        text = "SELECT concat('rows: ', count(*)) AS n FROM bronze.seldom"
        return CommandProcess(tmp_path / log, "sql", text, cwd=tmp_path, environ=environ)

    def ended() -> bool:
        return ServerOnDemand(settings.config().spark, tmp_path / "lake.yaml", environ).describe().startswith("not ")

    started = None
    try:
        # Two commands at once, for which the tables have their names.
        with query("first") as first, query("second") as second:
            assert [each.exit_code(200) for each in (first, second)] == [0, 0], first.output + second.output
            started = server_pid(home)
        assert ["rows: 3" in each.output for each in (first, second)] == [True, True]
        assert (home / LOG).read_text().count("Spark Connect  sc://") == 1
        assert not (home / f"{LOG}.1").exists(), "it was started once"

        # A merge that is longer than the idle time, with nothing for the server to do for most of it.
        with settings.open_lake() as handles:
            waited = []

            def wait(_: str) -> None:
                if not waited:
                    waited.append(time.sleep(_IDLE + 4))

            handles.delta.session  # noqa: B018  # the use begins
            wait("")
            merged = merge_table(handles, lake.spec("seldom"), wait)
            assert merged is not None
            assert merged.inserted == 2
            assert server_pid(home) == started
        assert eventually(ended, 60.0)
        assert eventually(lambda: gone(started))
        assert f"stopped, because nobody used it for {_IDLE} s" in (home / LOG).read_text()

        # Another run starts it. That the next one does so after a kill needs no Spark, and is a test of processes.
        with settings.open_lake() as handles:
            assert handles.delta.session.table("silver.seldom").count() == 2
            started = server_pid(home)
            os.kill(started, signal.SIGKILL)
        assert lake.sql("SELECT count(*) AS n FROM bronze.seldom")[0]["n"] == 3
    finally:
        for process in on_demand._started:
            process.kill()
            process.wait(30)
        on_demand._started.clear()
        if started and not gone(started):
            os.kill(started, signal.SIGTERM)
