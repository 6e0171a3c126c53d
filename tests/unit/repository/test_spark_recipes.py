"""The scripts of the page about a Spark server by a command: they run, with stand-ins for the tools of the cloud."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tidegate.platform.core.config.spark import SparkSpec
from tidegate.platform.lake.spark.server_command import ServerByCommand, server_of

_PAGE = (Path(__file__).parents[3] / "docs" / "operate" / "spark-by-command.md").read_text(encoding="utf-8")
_SCRIPTS = re.findall(r"^```bash\n(.*?)^```$", _PAGE, re.MULTILINE | re.DOTALL)
_STAND_IN = '#!/bin/sh\necho "$(basename "$0") $*" >> "$CALLS"\necho noise\n'


def test_the_example_is_a_setting_of_lake_yaml() -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", _PAGE, re.MULTILINE | re.DOTALL)
    assert SparkSpec.model_validate(yaml.safe_load(example)["spark"]).start == "command"


@pytest.mark.parametrize("script", _SCRIPTS, ids=["ecs", "kubernetes"])
def test_a_script_prints_a_server_and_says_when_it_failed(script: str, tmp_path: Path) -> None:
    path, calls = tmp_path / "script.sh", tmp_path / "calls"
    path.write_text(script)
    path.chmod(0o755)
    for tool in ("aws", "kubectl"):
        (tmp_path / tool).write_text(_STAND_IN)
        (tmp_path / tool).chmod(0o755)
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(calls)}
    done = subprocess.run([path], env=environ, capture_output=True, timeout=30, check=True)
    remote = server_of(done.stdout)
    assert remote.address.endswith("/;use_ssl=true")
    assert remote.source is not None
    assert len(calls.read_text().splitlines()) == 2

    for tool in ("aws", "kubectl"):
        (tmp_path / tool).write_text("#!/bin/sh\necho no capacity >&2\nexit 1\n")
    with pytest.raises(Exception, match="ended with 1: no capacity"):
        ServerByCommand([str(path)], environ).obtain()
