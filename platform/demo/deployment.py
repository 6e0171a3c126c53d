"""The platform on which a demo runs: the local AWS, the Spark Connect server, and Dagster with its UI."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from tidegate.platform.local.dagster_processes import DagsterProcesses
from tidegate.platform.local.names import name_tables
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.local.stack_file import client_environ


@dataclass(frozen=True)
class Ports:
    """Ports on loopback; 0 is a free one.

    Attributes:
        aws: of the local AWS.
        spark: of the Spark Connect server.
        ui: of Dagster's UI.
    """

    aws: int = 4566
    spark: int = 15002
    ui: int = 3000


DEFAULT_PORTS = Ports()


class DemoReport(Protocol):
    """The outcome of a demo."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as `--report` writes it."""


@dataclass(frozen=True)
class NextSteps:
    """What to do after a demo.

    Attributes:
        command: the command of the demo.
        places: what to open: addresses and commands by what they show.
        again: what the next run of the demo does.
    """

    command: str
    places: Mapping[str, str]
    again: str


@dataclass(frozen=True)
class Deployment:
    """A running platform.

    Attributes:
        stack: AWS and Spark.
    """

    stack: LocalStack
    dagster: DagsterProcesses

    @property
    def environ(self) -> dict[str, str]:
        """The whole environment of a client process."""
        return client_environ(self.stack.environ)

    def check(self) -> None:
        """Raise UnavailableError if a process of the platform has died."""
        self.stack.check()
        self.dagster.check()

    def end_demo(
        self,
        console: Console,
        report: DemoReport,
        report_path: Path | None,
        *,
        keep: bool,
        following: NextSteps,
    ) -> None:
        """Write the report, print what to do next, and wait for Ctrl-C if everything is kept.

        Args:
            report: the outcome.
            report_path: file for the report as JSON.
            keep: whether everything stays until Ctrl-C.
            following: what to do next.

        Raises:
            UnavailableError: a process died.
        """
        if report_path:
            report_path.write_text(json.dumps(report.to_json(), indent=2) + "\n")
        console.print()
        if not keep:
            again = "keeps everything running, for the UI and for SQL"
            console.print(f"Next: [bold]{following.command} --keep[/] {again}. {following.again}")
            return
        console.print("[bold]Open next[/]")
        for what, where in following.places.items():
            console.print(f"  {what:<17}", where, highlight=False, markup=False, soft_wrap=True)
        console.print(f"Ctrl-C stops everything. {following.again}")
        self.stack.run_until_signal(self.dagster.check)


@contextmanager
def deployment(
    home: Path,
    console: Console,
    lake: Path,
    ports: Ports,
    *,
    spark_conf: Mapping[str, str] | None = None,
    before_sensors: Callable[[LocalStack], None] | None = None,
) -> Iterator[Deployment]:
    """Run the platform while the block runs.

    Args:
        home: folder of all state.
        console: takes the address of the UI.
        lake: the `lake.yaml`.
        ports: ports of the servers.
        spark_conf: additional settings of the Spark server.
        before_sensors: called when AWS and Spark are ready, before the first sensor ticks. Dagster loads the code in
            the meantime.

    Raises:
        UnavailableError: the home is in use, or something could not be started.
    """
    with ExitStack() as running:
        with console.status("Starting the local AWS and the Spark Connect server"):
            stack = running.enter_context(
                LocalStack(
                    home,
                    lake=lake,
                    aws_port=ports.aws,
                    spark_port=ports.spark,
                    on_ready=name_tables,
                    spark_conf=spark_conf,
                )
            )
        dagster = DagsterProcesses(home, client_environ(stack.environ), ports.ui)
        try:
            dagster.load_code()
            if before_sensors:
                before_sensors(stack)
            with console.status("Starting Dagster: code server, daemon, UI"):
                dagster.start()
            console.print(f"[bold]Dagster UI[/] {dagster.ui_url} (open it now and watch)")
            yield Deployment(stack, dagster)
        finally:
            dagster.stop()
