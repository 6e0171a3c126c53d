"""The exit code of `tidegate demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tidegate.platform.cli.main import app
from tidegate.platform.demo import run
from tidegate.platform.demo.report import Report


@pytest.mark.parametrize(("problems", "code"), [([], 0), (["bronze.flights: 1 row too many"], 1)])
def test_a_demo_with_a_wrong_count_exits_with_1(
    problems: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def report(*_: Any, **__: Any) -> Report:
        return Report(problems=problems)

    monkeypatch.setattr(run, "run_demo", report)
    assert CliRunner().invoke(app, ["demo", "--home", str(tmp_path)]).exit_code == code
