"""The platform on which a demo runs: the local AWS, the Spark Connect server, and Dagster with its UI."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class Deployment:
    """A running platform.

    Attributes:
        stack: AWS and Spark.
        dagster: Dagster's processes.
    """

    stack: LocalStack
    dagster: DagsterProcesses

    @property
    def environ(self) -> dict[str, str]:
        """The whole environment of a client process."""
        return client_environ(self.stack.environ)

    def check(self) -> None:
        """Raise LocalStackError if a process of the platform has died."""
        self.stack.check()
        self.dagster.check()

    def run_until_signal(self) -> None:
        """Wait until SIGINT or SIGTERM.

        Raises:
            LocalStackError: a process died.
        """
        self.stack.run_until_signal(self.dagster.check)


@contextmanager
def deployment(
    home: Path,
    console: Console,
    lake: Path,
    ports: Ports,
    *,
    spark_conf: Mapping[str, str] | None = None,
    before_dagster: Callable[[LocalStack], None] | None = None,
) -> Iterator[Deployment]:
    """Run the platform while the block runs.

    Args:
        home: folder of all state.
        console: takes the address of the UI.
        lake: the `lake.yaml`.
        ports: ports of the servers.
        spark_conf: additional settings of the Spark server.
        before_dagster: called when AWS and Spark are ready, before the first sensor ticks.

    Raises:
        LocalStackError: the home is in use, or something could not be started.
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
        if before_dagster:
            before_dagster(stack)
        dagster = DagsterProcesses(home, client_environ(stack.environ), ports.ui)
        try:
            with console.status("Starting Dagster: code server, daemon, UI"):
                dagster.start()
            console.print(f"[bold]Dagster UI[/] {dagster.ui_url} (open it now and watch)")
            yield Deployment(stack, dagster)
        finally:
            dagster.stop()
