from __future__ import annotations

import io

from rich.console import Console

from tidegate.platform.demo.storage.report import StorageReport, show_storage_report


def test_a_figure_that_differs_is_shown_and_the_report_is_not_ok() -> None:
    report, console = StorageReport(2, 3), Console(file=io.StringIO(), width=120)
    report.compare("rows", 1_000, 1_000)
    assert report.ok
    report.compare("dollars", "12.30", "12.31")
    show_storage_report(console, report)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert not report.ok
    assert not report.to_json()["ok"]
    assert "1,000" in said
    assert "12.31 │ no" in said
    assert "Every figure" not in said
    assert "1 of 2 figures differ: dollars" in said
