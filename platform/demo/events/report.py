"""The report of the demo of events: every output, what it must contain and what it contains."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidegate.platform.core.wording import first_texts

#: Differences of one comparison that are named. The others are counted.
_MAX_NAMED = 5


@dataclass(frozen=True)
class Output:
    """A line of the report.

    Attributes:
        output: what it is.
        where: its name in the lake.
        expected: the count that the oracle computed.
        found: the count that was found.
        what: what is counted.
    """

    output: str
    where: str
    expected: int
    found: int
    what: str

    @property
    def right(self) -> bool:
        """Whether the counts are equal."""
        return self.expected == self.found


@dataclass(frozen=True)
class Broken:
    """Something that the demo broke on purpose.

    Attributes:
        what: what was broken, and how often.
        now: where it is now.
        remedy: how a user gets it back.
    """

    what: str
    now: str
    remedy: str


@dataclass
class EventsReport:
    """The outcome of the demo.

    Attributes:
        types: number of event types.
        events_sent: number of events that were sent.
        seconds: how long it took, from the first process to the last comparison.
        outputs: the lines of the report.
        broken: what was broken on purpose.
        problems: every difference from the oracle; empty if all is right.
    """

    types: int = 0
    events_sent: int = 0
    seconds: float = 0.0
    outputs: list[Output] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every count is that of the oracle."""
        return not self.problems

    def count(self, output: str, where: str, expected: int, found: int, what: str) -> None:
        """Add a line. Counts that differ are a problem."""
        line = Output(output, where, expected, found, what)
        self.outputs.append(line)
        if not line.right:
            self.problems.append(f"{output}, {where}: {found:,} {what}, must be {expected:,}")

    def compare(self, what: str, expected: Any, found: Any) -> None:
        """Compare two numbers, sets or mappings, and name what differs."""
        if expected == found:
            return
        if isinstance(expected, dict):
            names = sorted(name for name in {*expected, *found} if expected.get(name) != found.get(name))
            differing = [f"{name}: {found.get(name, 'none')}, must be {expected.get(name, 'none')}" for name in names]
        elif isinstance(expected, set):
            differing = [f"missing {name}" for name in sorted(expected - found)]
            differing += [f"too much {name}" for name in sorted(found - expected)]
        else:
            differing = [f"{found}, must be {expected}"]
        self.problems.append(f"{what}: {'; '.join(first_texts(differing, _MAX_NAMED))}")

    def to_json(self) -> dict[str, Any]:
        """Return the report as `--report` writes it."""
        return {**asdict(self), "ok": self.ok}


def show_events_report(console: Console, report: EventsReport) -> None:
    """Print the report."""
    table = Table(title="What became of the events", header_style="bold")
    for name in ("output", "where", "expected", "found", "", "right"):
        table.add_column(name, justify="right" if name in ("expected", "found") else "left")
    for line in report.outputs:
        right = "[green]yes[/]" if line.right else "[bold red]no[/]"
        table.add_row(line.output, line.where, f"{line.expected:,}", f"{line.found:,}", line.what, right)
    console.print(table)
    broken = Table(title="What broke on purpose, and where it is now", header_style="bold")
    for name in ("what broke", "where it is now", "how it comes back"):
        broken.add_column(name, overflow="fold")
    for each in report.broken:
        broken.add_row(escape(each.what), escape(each.now), escape(each.remedy))
    console.print(broken)
    if report.ok:
        console.print(
            f"[bold green]Every count is what the oracle computed: {report.events_sent:,} events of {report.types} "
            f"types in {report.seconds:.0f} s[/]"
        )
    for problem in report.problems:
        console.print("[bold red]wrong:[/]", escape(problem), highlight=False)
