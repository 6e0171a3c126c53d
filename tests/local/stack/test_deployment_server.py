"""`tidegate spark` as a service manager runs it: ready, stopped, killed, without what it needs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.servers.command_process import CommandProcess
from tests.support.servers.tls_proxy import TlsProxy
from tidegate.platform.cli.main import app, explain_error
from tidegate.platform.core.errors import TidegateError
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.session import probe
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.local.process.ports import free_port

pytestmark = pytest.mark.timeout(120)

ASK = """
from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.spark.session import probe
import os
print(probe(Settings.from_environ(os.environ).spark))
"""
LAKE = {"lake": {"root": "s3://nobody-made-it/lake"}, "queues": [{"name": "q"}], "buckets": ["landing"]}


@pytest.fixture
def environ(local_aws: LocalAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set the environment of a deployment. Returns the path of its token."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "SPARK_", "TIDEGATE_"))]:
        monkeypatch.delenv(name)
    (tmp_path / "lake.yaml").write_text(json.dumps(LAKE))
    token = tmp_path / "secrets" / "token"
    for name, value in {**local_aws.environ, "TIDEGATE_SPARK_TOKEN_FILE": str(token)}.items():
        monkeypatch.setenv(name, value)
    return token


def page(port: int, name: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def test_it_is_ready_with_the_token_that_it_made_and_ends_with_a_signal(
    environ: Path, tmp_path: Path, until: Callable[..., bool], is_gone: Callable[[int], bool]
) -> None:
    port, health = free_port(), free_port()
    command = ("spark", "--port", str(port), "--health-port", str(health))
    with CommandProcess(tmp_path / "log", *command, small=True, cwd=tmp_path) as running:
        assert until(lambda: page(health, "readyz") == (200, "ok\n"), 60.0), running.output
        assert page(health, "livez") == (200, "ok\n")
        assert page(health, "else")[0] == 404
        token = environ.read_text().strip()
        assert probe(SparkRemote(f"sc://localhost:{port}", token)) == "4.2.0-small"
        with pytest.raises(SparkUnreachable, match="refuses this client"):
            probe(SparkRemote(f"sc://localhost:{port}", "another"))
        # The bucket of this lake does not exist: a server without names still serves.
        assert "the tables have no SQL names now: " in running.output
        assert token not in running.output
        assert not [text for words in running.below().values() for text in words if token in text]
        below = list(running.below())
        began = time.monotonic()
        assert running.end(signal.SIGTERM) == 0
        assert time.monotonic() - began < 15
        assert "stopped by signal 15" in running.output
    assert all(is_gone(pid) for pid in below)


def test_a_client_elsewhere_sends_the_token_by_tls_to_a_certificate_that_it_is_given(
    environ: Path, tmp_path: Path, until: Callable[..., bool]
) -> None:
    """As the chart does it, with a Spark pod of its own: variables alone let Dagster's processes trust the proxy."""
    port, health = free_port(), free_port()
    command = ("spark", "--port", str(port), "--health-port", str(health))
    with (
        CommandProcess(tmp_path / "log", *command, small=True, cwd=tmp_path) as running,
        TlsProxy(tmp_path, port) as proxy,
    ):
        assert until(lambda: page(health, "readyz") == (200, "ok\n"), 60.0), running.output
        trusting = {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(proxy.certificate)}

        def ask(parameters: str, more: dict[str, str]) -> str:
            given = {**os.environ, "SPARK_REMOTE": f"sc://127.0.0.1:{proxy.port}{parameters}", **more}
            code = [sys.executable, "-P", "-c", ASK]
            done = subprocess.run(code, env=given, capture_output=True, timeout=60, check=False)
            return (done.stdout + done.stderr).decode()

        assert ask("/;use_ssl=true", trusting).strip() == "4.2.0-small"
        assert "SparkUnreachable" in ask("/;use_ssl=true", {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": ""})
        assert ask("", trusting).strip() == "4.2.0-small", "PySpark takes TLS by itself if it has a token"
        (other := tmp_path / "other").write_text("another")
        refused = ask("/;use_ssl=true", {**trusting, "TIDEGATE_SPARK_TOKEN_FILE": str(other)})
        assert "refuses this client" in refused


def test_it_ends_with_its_server_so_that_the_service_starts_again(environ: Path, tmp_path: Path) -> None:
    command = ("spark", "--port", str(free_port()), "--health-port", "0")
    with CommandProcess(tmp_path / "log", *command, small=True, cwd=tmp_path) as running:
        running.wait_for("health ", 60.0)
        (server,) = (pid for pid, words in running.below().items() if words[1].endswith("small_server.py"))
        os.kill(server, signal.SIGKILL)
        running.wait_for(r"error: the Spark server died with exit code 137; its log is above, then start again", 30.0)
        assert running.exit_code(30.0) == 1


@pytest.mark.parametrize(
    ("without", "more", "why"),
    [
        ("AWS_REGION AWS_DEFAULT_REGION", [], "no region: set AWS_REGION"),
        ("TIDEGATE_SPARK_TOKEN_FILE", [], "the server needs a token"),
        ("", ["--host", "10.0.0.7"], "--host 10.0.0.7: choose 127.0.0.1"),
        ("", ["--conf", "a=b"], "--conf 'a' is not a setting of Spark"),
        ("", ["--conf-file", "none"], "--conf-file none cannot be read: .*No such file"),
        ("", ["--conf-file", "lake.yaml"], "--conf-file lake.yaml, line 1: write a setting of Spark"),
        ("", ["--lake", "none.yaml"], "none.yaml"),
        ("", ["--health-port", "{taken}"], r"is in use .* choose another with --health-port"),
        ("", ["--port", "{taken}", "--health-port", "0"], r"is in use .* choose another with --port"),
    ],
)
def test_what_is_missing_is_named_in_one_line(
    without: str,
    more: list[str],
    why: str,
    environ: Path,
    local_aws: LocalAws,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in without.split():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    given = [text.replace("{taken}", str(local_aws.port)) for text in more]
    failed = CliRunner().invoke(app, ["spark", *given]).exception
    assert isinstance(failed, TidegateError)
    assert re.search(why, explain_error(failed))
