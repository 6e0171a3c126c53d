"""The services of the compose file, started by the entrypoint of the image with their variables, on this machine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.plugins.processes import eventually
from tests.support.servers.command_process import _SMALL
from tests.support.servers.postgres import Postgres
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.local.process.guard import _descendants
from tidegate.platform.local.process.ports import free_port
from tidegate.platform.local.process.process import Process, spawn

pytestmark = pytest.mark.timeout(300)

ROOT = Path(__file__).parents[3]
ENTRYPOINT = ROOT / "deploy" / "image" / "entrypoint"
DOCKERFILE = (ROOT / "deploy" / "image" / "Dockerfile").read_text(encoding="utf-8")
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose" / "compose.yaml").read_text())["services"]
LAKE = {"lake": {"root": "s3://nobody-made-it/lake"}, "queues": [{"name": "q"}], "buckets": ["landing"]}


@pytest.fixture
def environ(local_aws: LocalAws, tmp_path: Path) -> dict[str, str]:
    """Return what the image and the local AWS set. The folders of the image are below that of the test."""
    for name in ("etc", "run", "lib"):
        (tmp_path / name).mkdir()
    (tmp_path / "etc" / "lake.yaml").write_text(json.dumps(LAKE))
    base = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "DAGSTER_", "SPARK_", "TIDEGATE_"))
    }
    image = dict(re.findall(r"(\w+)=(/(?:etc|run|var/lib)/tidegate/\S+)", DOCKERFILE))
    assert image.keys() == {"DAGSTER_HOME", "TIDEGATE_LAKE", "TIDEGATE_SPARK_TOKEN_FILE"}
    places = {
        name: re.sub("^/(?:var/)?(etc|run|lib)/tidegate", rf"{tmp_path}/\1", value) for name, value in image.items()
    }
    path = f"{Path(sys.executable).parent}:{base['PATH']}"
    return base | local_aws.environ | places | {"PATH": path, "PYTHONUNBUFFERED": "1"}


def service(name: str, given: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return command and variables of a service of compose."""
    found = SERVICES[name]

    def fill(text: str) -> str:
        return re.sub(r"\$\{(\w+):\?[^}]*\}", lambda match: given[match[1]], text)

    return found["command"], {key: fill(value) for key, value in found["environment"].items()}


def start(command: list[str], environ: dict[str, str], folder: Path) -> Process:
    return spawn("entrypoint", ["bash", str(ENTRYPOINT), *command], log=folder / "log", env=environ, cwd=folder / "lib")


def page(url: str) -> tuple[int, str]:
    with suppress(OSError):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""
    return 0, ""


def test_spark_makes_its_token_and_the_health_check_of_compose_passes(environ: dict[str, str], tmp_path: Path) -> None:
    command, more = service("spark", {"AWS_REGION": "us-east-1"})
    # The small server in place of Spark's own.
    (programs := tmp_path / "bin").mkdir()
    (small := programs / "tidegate").write_text(f"#!/bin/sh\nexec {sys.executable} -P -c '{_SMALL[1]}' \"$@\"\n")
    small.chmod(0o755)
    environ |= more | {"PATH": f"{programs}:{environ['PATH']}", "PYTHONPATH": str(ROOT)}
    health = free_port()
    process = start([*command, "--port", str(free_port()), "--health-port", str(health)], environ, tmp_path)
    try:
        check = [text.replace("15003", str(health)) for text in SERVICES["spark"]["healthcheck"]["test"][1:]]
        assert str(health) in check[-1]

        def is_healthy() -> bool:
            return subprocess.run(check, stderr=subprocess.PIPE, timeout=30, check=False).returncode == 0

        assert not is_healthy()
        assert eventually(is_healthy, 60), process.tail(40)
        assert (tmp_path / "run" / "spark-token").stat().st_mode & 0o777 == 0o600
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(10.0) == 0, process.tail(40)
    finally:
        process.stop(2.0)


def test_dagster_has_daemon_and_pages_and_ends_as_a_whole(
    environ: dict[str, str], tmp_path: Path, is_gone: Callable[[int], bool]
) -> None:
    with Postgres() as postgres:
        command, more = service("dagster", {"AWS_REGION": "us-east-1", "POSTGRES_PASSWORD": postgres.password})
        database = {
            "HOST": postgres.host,
            "DB": postgres.user,
            "USERNAME": postgres.user,
            "PASSWORD": postgres.password,
        }
        assert {name for name in more if "_PG_" in name} == {f"DAGSTER_PG_{name}" for name in database}
        port = free_port()
        environ |= more | {f"DAGSTER_PG_{name}": value for name, value in database.items()}
        environ |= {"TIDEGATE_UI_PORT": str(port)}
        process = start(command, environ, tmp_path)
        try:
            assert eventually(lambda: page(f"http://127.0.0.1:{port}/server_info")[0] == 200, 120), process.tail(40)
            config = yaml.safe_load((tmp_path / "lib" / "dagster" / "dagster.yaml").read_text())
            assert config["run_launcher"]["class"] == "ForkingRunLauncher"
            assert config["storage"]["postgres"]["postgres_db"]["scheme"] == "postgresql+psycopg2"
            below = list(_descendants(process.pid))
            (daemon,) = (pid for pid in below if "dagster-daemon" in Path(f"/proc/{pid}/cmdline").read_text())
            # A part that ends takes the others with it, so that the service is started again as a whole.
            os.kill(daemon, signal.SIGKILL)
            assert process.wait(30.0) == 1
            assert "error: a process of Dagster ended" in process.tail(400)
            assert eventually(lambda: all(is_gone(pid) for pid in below), 20)
        finally:
            process.stop(2.0)


def test_a_dagster_yaml_next_to_the_lake_takes_the_place_of_the_printed_one(
    environ: dict[str, str], tmp_path: Path
) -> None:
    (programs := tmp_path / "bin").mkdir()
    for name in ("dagster-daemon", "dagster-webserver", "tidegate"):
        (program := programs / name).write_text(f'#!/bin/sh\necho {name} "$@"\nsleep 60\n')
        program.chmod(0o755)
    (tmp_path / "etc" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    process = start(["dagster"], environ | {"PATH": f"{programs}:{environ['PATH']}"}, tmp_path)
    try:
        written = tmp_path / "lib" / "dagster" / "dagster.yaml"
        assert eventually(lambda: "--host 127.0.0.1 --port 3000" in process.tail(), 20)
        assert written.read_text() == "telemetry: {enabled: false}\n"
        assert "tidegate dagster-yaml" not in process.tail()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(10.0) == 0
    finally:
        process.stop(2.0)
