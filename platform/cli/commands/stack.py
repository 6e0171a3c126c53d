"""`tidegate up` and `tidegate dev` run the local platform."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from rich.console import Console

from tidegate.platform.cloud.wanted import WantedResources
from tidegate.platform.local.dagster_processes import DagsterProcesses
from tidegate.platform.local.lake_yaml_watch import LakeYamlWatch
from tidegate.platform.local.names import name_tables
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.local.stack_file import SHELL_FILE, client_environ


def run_stack(
    console: Console,
    lake: Path,
    home: Path,
    *,
    aws_port: int,
    spark_port: int,
    ui_port: int | None,
    workspace: Path | None = None,
) -> None:
    """Run the local platform until a signal.

    With a UI port, Dagster runs too, with the code locations of a workspace file.

    Raises:
        LocalStackError: something could not be started or died.
        LakeConfigError: the lake.yaml is wrong.
    """
    ready = partial(name_tables, say=console.print)
    stack = LocalStack(home, lake=lake, aws_port=aws_port, spark_port=spark_port, on_ready=ready)
    dagster = None
    if ui_port is not None:
        dagster = DagsterProcesses(home, client_environ(stack.environ), ui_port, extra_workspace=workspace)
        dagster.require_startable()
    with ExitStack() as running:
        with console.status("Starting the local AWS and the Spark Connect server"):
            running.enter_context(stack)
        console.print(
            f"local AWS      {stack.aws.endpoint}\nSpark Connect  {stack.spark.remote}\nstate          {stack.home}"
        )
        watch = _watch(console, stack)
        if dagster is None:
            _print_usage(console, stack)
            stack.run_until_signal(watch)
            return
        try:
            with console.status("Starting Dagster: code server, daemon, UI"):
                dagster.start()
            console.print(f"Dagster UI     {dagster.ui_url}")
            _print_usage(console, stack)
            check = dagster.check
            stack.run_until_signal(lambda: (check(), watch())[0])
        finally:
            dagster.stop()


def _watch(console: Console, stack: LocalStack) -> Callable[[], None]:
    """Returns a function that says what became of `lake.yaml`, if it has changed since the last call."""
    if stack.lake is None:
        return lambda: None
    say = partial(console.print, highlight=False, soft_wrap=True, markup=False)
    return LakeYamlWatch(
        stack.lake,
        stack.settings.config,
        lambda config: WantedResources.of(config).buckets,
        say,
        created=stack.wanted.buckets,
    ).look


def _print_usage(console: Console, stack: LocalStack) -> None:
    # Soft wrap keeps lines that can be copied.
    for line in how_to_use(stack.home, stack.wanted):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def how_to_use(home: Path, wanted: WantedResources) -> list[str]:
    """Returns the lines that a running platform prints: how to put a file into it, and how to look at the tables."""
    # The variables themselves are not printed, because one of them is the Spark server's token.
    return [
        "",
        "In another shell (the first line is for aws, boto3, PySpark, and for tidegate in any folder):",
        f"  . {shlex.quote(str(home / SHELL_FILE))}",
        f"  aws s3 cp ./exports s3://{wanted.buckets[0]}/ --recursive",
        "  tidegate status",
        "Ctrl-C stops the platform; its state stays.",
    ]
