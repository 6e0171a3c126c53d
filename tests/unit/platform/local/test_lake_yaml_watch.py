"""A running local platform says what became of `lake.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tidegate.platform.core.config.load import LakeConfigError
from tidegate.platform.local.lake_yaml_watch import LakeYamlWatch


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
