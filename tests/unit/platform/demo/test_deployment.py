from __future__ import annotations

import io
import json
from pathlib import Path
from unittest.mock import Mock

import pytest
from rich.console import Console

from tidegate.platform.demo.deployment import Deployment, NextSteps
from tidegate.platform.demo.storage.report import StorageReport


@pytest.mark.parametrize("keep", [False, True])
def test_a_demo_ends_with_its_report_and_what_to_do_next(tmp_path: Path, keep: bool) -> None:
    console, stack, path = Console(file=io.StringIO(), width=200), Mock(), tmp_path / "report.json"
    places = {"SQL": 'tidegate sql "SELECT data[0]"'}
    following = NextSteps("tidegate demo", places, "The next run.")
    Deployment(stack, Mock()).end_demo(console, StorageReport(2, 3), path, keep=keep, following=following)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert json.loads(path.read_text())["buckets"] == 2
    assert (places["SQL"] in said, "tidegate demo --keep keeps" in said) == (keep, not keep)
    assert "The next run." in said
    assert stack.run_until_signal.called == keep
