"""`tidegate up` and `tidegate dev`: up, used, and down in order or with one readable line.

No test queries Spark, so a small server replaces it. The demo runs the same parts with the real server.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.servers.command_process import FREE_PORTS, CommandProcess
from tidegate.platform.local.stack_file import find_stack

pytestmark = pytest.mark.timeout(400)

LAKE = """
lake: {root: "s3://tidegate-lake/lake"}
queues: [{url: "${TIDEGATE_QUEUE_URL}"}]
buckets: [landing]
"""
_UP = 240.0


def run(folder: Path, command: str, *arguments: str) -> CommandProcess:
    lake = folder / "lake.yaml"
    lake.write_text(LAKE)
    home = str(folder / "home")
    arguments = ("--lake", str(lake), "--home", home, *FREE_PORTS, *arguments)
    # A file in the working directory of the user must not be imported.
    for name in ("gql", "yaml", "tidegate"):
        (folder / f"{name}.py").write_text(f"raise ImportError('the {name}.py of the working directory')\n")
    return CommandProcess(folder / "log", command, *arguments, small=True, cwd=folder)


def ui_version(dev: CommandProcess) -> str:
    """Return the answer of a running UI about itself."""
    url = dev.wait_for(r"Dagster UI +(http://\S+)\n(?s:.*)Ctrl-C stops the platform; its state stays\.", _UP)[1]
    with urllib.request.urlopen(f"{url}/server_info", timeout=20) as reply:
        return str(json.load(reply)["dagster_webserver_version"])


def test_dev_says_in_one_line_that_its_daemon_died(tmp_path: Path, is_gone: Callable[[int], bool]) -> None:
    """The tests of the demo, which waits in the same way, show the end by Ctrl-C."""
    with run(tmp_path, "dev", "--ui-port", "0") as dev:
        assert ui_version(dev)
        everything = dev.below()
        assert len(everything) >= 10  # AWS, Spark, code server, daemon and UI, each behind its guard
        command = ["-m", "tidegate.platform.local.dagster_daemon"]
        (daemon,) = (pid for pid, arguments in everything.items() if arguments[1:3] == command)
        os.kill(daemon, signal.SIGKILL)
        assert dev.exit_code(90) == 1
    line = r"error: the Dagster daemon died with exit code 137; see \S+/dagster-daemon\.log, then start again"
    assert re.fullmatch(line, dev.output.splitlines()[-1]), dev.output
    assert "Traceback" not in dev.output
    assert all(is_gone(pid) for pid in everything)
    assert find_stack(tmp_path / "home") is None
    assert (tmp_path / "home" / "dagster" / "dagster.yaml").exists()


def test_up_prints_what_its_clients_need_until_it_is_ended(tmp_path: Path, is_gone: Callable[[int], bool]) -> None:
    with run(tmp_path, "up") as up:
        up.wait_for("Ctrl-C stops the platform; its state stays", _UP)
        stack = find_stack(tmp_path / "home")
        assert stack is not None
        (script,) = re.findall(r"^  \. (\S+)$", up.output, re.M)
        shell = subprocess.run(
            ["sh", "-c", f". {script}; env"], env={}, capture_output=True, text=True, timeout=20, check=True
        )
        assert dict(line.split("=", 1) for line in shell.stdout.splitlines()).items() >= stack.environ.items()
        assert stack.environ["SPARK_CONNECT_AUTHENTICATE_TOKEN"] not in up.output
        with urllib.request.urlopen(f"{stack.environ['AWS_ENDPOINT_URL']}/landing", timeout=20) as reply:
            assert b"<Name>landing</Name>" in reply.read()
        everything = up.below()
        assert up.end(signal.SIGTERM) == 0
    assert all(is_gone(pid) for pid in everything)
    assert find_stack(tmp_path / "home") is None
