"""`tidegate dev` finds out first what it can find out without its servers."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tidegate.platform.cli.commands.stack import LakeYamlWatch, how_to_use, run_stack
from tidegate.platform.cli.terminal import command_console
from tidegate.platform.cloud.requirements import WantedResources
from tidegate.platform.core.config.load import LakeConfigError
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.stack import LocalStack


def test_a_taken_port_and_a_missing_workspace_are_reported_before_a_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalStack, "start", lambda self: pytest.fail("a server was started"))
    ports = {"aws_port": 0, "spark_port": 0}
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UnavailableError, match=rf"port {port} \(Dagster UI\) is in use .* --ui-port"):
            run_stack(command_console(), tmp_path / "lake.yaml", tmp_path, **ports, ui_port=port)
    absent = tmp_path / "workspace.yaml"
    with pytest.raises(UnavailableError, match=r"there is no file .*workspace\.yaml: --workspace must name"):
        run_stack(command_console(), tmp_path / "lake.yaml", tmp_path, **ports, ui_port=0, workspace=absent)


def test_a_running_platform_says_how_to_put_files_into_its_buckets() -> None:
    lines = how_to_use(Path("/home/a b/.tidegate/local"), WantedResources(buckets=("acme", "other")))
    assert "  . '/home/a b/.tidegate/local/environment.sh'" in lines
    assert "  aws s3 cp ./exports s3://acme/ --recursive" in lines


def test_each_change_gives_one_line_with_what_to_do(tmp_path: Path) -> None:
    path, said = tmp_path / "lake.yaml", list[str]()

    def load() -> Any:
        text = path.read_text()
        if "wrong" in text:
            raise LakeConfigError([f"{path}:1: wrong"])
        return text.split()

    path.write_text("landing")
    watch = LakeYamlWatch(path, load, lambda config: list(config), said.append, created=["landing"])
    for text in ("landing", "landing wrong", "landing", "landing more"):
        path.write_text(text)
        watch.look()
        watch.look()
    assert said == [
        f"{path} is wrong: {path}:1: wrong",
        f"{path} is right again",
        f"{path} names more: stop and start `tidegate dev`, which creates the bucket",
    ]
