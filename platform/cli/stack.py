"""`tidegate up` and `tidegate dev`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from tidegate.platform.local.dagster_processes import DagsterProcesses
from tidegate.platform.local.stack import LocalStack
from tidegate.resources.lake_resource import name_tables


def run_stack(console: Console, lake: Path, home: Path, *, aws_port: int, spark_port: int, ui_port: int | None) -> None:
    """Run the local platform until a signal; with a UI port, Dagster too.

    Raises:
        LocalStackError: something could not be started or died.
        LakeConfigError: the lake.yaml is wrong.
    """
    stack = LocalStack(home, lake=lake, aws_port=aws_port, spark_port=spark_port, on_ready=name_tables)
    os.environ.update(stack.environ)
    with ExitStack() as running:
        with console.status("Starting the local AWS and the Spark Connect server"):
            running.enter_context(stack)
        console.print(
            f"local AWS      {stack.aws.endpoint}\nSpark Connect  {stack.spark.remote}\nstate          {stack.home}"
        )
        if ui_port is None:
            console.print("\nIn another shell, for your own processes:")
            for name, value in sorted(stack.environ.items()):
                # Soft: a line that is broken in two cannot be copied to a shell.
                console.print(f"  export {name}={value}", highlight=False, soft_wrap=True)
            console.print("Ctrl-C stops it; the state stays.")
            stack.run_until_signal()
            return
        dagster = DagsterProcesses(home, dict(os.environ), ui_port, cwd=Path.cwd())
        try:
            with console.status("Starting Dagster: code server, daemon, UI"):
                dagster.start()
            console.print(f"Dagster UI     {dagster.ui_url}\nCtrl-C stops it; the state stays.")
            stack.run_until_signal(dagster.check)
        finally:
            dagster.stop()
