"""The exit codes of `tidegate demo` and its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.main import app
from tidegate.platform.demo import run
from tidegate.platform.demo.events import run as events_run
from tidegate.platform.demo.events.report import EventsReport
from tidegate.platform.demo.report import Report
from tidegate.platform.demo.storage import run as storage_run
from tidegate.platform.demo.storage.report import StorageReport


@pytest.mark.parametrize(("problems", "code"), [([], 0), (["bronze.flights: 1 row too many"], 1)])
def test_a_demo_with_a_wrong_count_exits_with_1(
    problems: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def report(*_: Any, **__: Any) -> Report:
        return Report(problems=problems)

    def events_report(*_: Any, **__: Any) -> EventsReport:
        return EventsReport(problems=problems)

    monkeypatch.setattr(run, "run_demo", report)

    def storage_report(*_: Any, **__: Any) -> StorageReport:
        done = StorageReport(200, 30)
        done.compare("differences", 0, len(problems))
        return done

    monkeypatch.setattr(events_run, "run_events_demo", events_report)
    monkeypatch.setattr(storage_run, "run_storage_demo", storage_report)
    assert CliRunner().invoke(app, ["demo", "--home", str(tmp_path)]).exit_code == code
    for part in ("events", "storage"):
        assert CliRunner().invoke(app, ["demo", part, "--home", str(tmp_path)]).exit_code == code


def test_an_option_before_the_name_of_the_demo_is_not_ignored() -> None:
    done = CliRunner().invoke(app, ["demo", "--ui-port", "0", "events"])
    assert isinstance(done.exception, CommandError)
    assert str(done.exception) == "--ui-port is before `events`: write tidegate demo events --ui-port"
