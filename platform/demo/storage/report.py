"""The report of the demo of storage: each figure, what it must be and what it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True)
class CheckedFigure:
    """A line of the report.

    Attributes:
        what: what the figure is.
        expected: what the oracle computed.
        found: what was found.
    """

    what: str
    expected: str
    found: str

    @property
    def right(self) -> bool:
        """Whether both are the same."""
        return self.expected == self.found


@dataclass
class StorageReport:
    """The outcome of the demo.

    Attributes:
        buckets: number of buckets.
        days: number of days.
        seconds: how long it took, from the first process to the last comparison.
        figures: the lines of the report.
    """

    buckets: int
    days: int
    seconds: float = 0.0
    figures: list[CheckedFigure] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every figure is that of the oracle."""
        return all(figure.right for figure in self.figures)

    def compare(self, what: str, expected: object, found: object) -> None:
        """Add a line."""
        self.figures.append(CheckedFigure(what, _text(expected), _text(found)))

    def to_json(self) -> dict[str, Any]:
        """Return the report as `--report` writes it."""
        return {**asdict(self), "ok": self.ok}


def show_storage_report(console: Console, report: StorageReport) -> None:
    """Print the report."""
    table = Table(title="What the inventories say", header_style="bold")
    for name in ("figure", "expected", "found", "right"):
        table.add_column(name, justify="right" if name in ("expected", "found") else "left", overflow="fold")
    for figure in report.figures:
        right = "[green]yes[/]" if figure.right else "[bold red]no[/]"
        table.add_row(escape(figure.what), escape(figure.expected), escape(figure.found), right)
    console.print(table)
    if report.ok:
        console.print(
            f"[bold green]Every figure is what the oracle computed: {report.buckets} buckets, {report.days} days, in "
            f"{report.seconds:.0f} s[/]"
        )
    else:
        wrong = [figure.what for figure in report.figures if not figure.right]
        console.print(f"[bold red]{len(wrong)} of {len(report.figures)} figures differ: {escape(', '.join(wrong))}[/]")


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
