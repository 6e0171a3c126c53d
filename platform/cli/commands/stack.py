"""`tidegate up` and `tidegate dev` run the local platform, and say what changes of `lake.yaml` mean for it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from rich.console import Console

from tidegate.platform.cloud.requirements import WantedResources
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import LakeConfigError
from tidegate.platform.local.dagster_processes import DagsterProcesses
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
        UnavailableError: something could not be started or died.
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
    """Return a function that says what became of `lake.yaml`, if it has changed since the last call."""
    if stack.lake is None:
        return lambda: None
    say = partial(console.print, highlight=False, soft_wrap=True, markup=False)
    return LakeYamlWatch(
        stack.lake,
        stack.settings.config,
        lambda config: WantedResources.from_config(config).buckets,
        say,
        created=stack.wanted.buckets,
    ).look


def _print_usage(console: Console, stack: LocalStack) -> None:
    # Soft wrap keeps lines that can be copied.
    for line in how_to_use(stack.home, stack.wanted):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def how_to_use(home: Path, wanted: WantedResources) -> list[str]:
    """Return the lines that a running platform prints: how to put a file into it, and how to look at the tables."""
    # The variables themselves are not printed, because one of them is the Spark server's token.
    return [
        "",
        "In another shell (the first line is for aws, boto3, PySpark, and for tidegate in any folder):",
        f"  . {shlex.quote(str(home / SHELL_FILE))}",
        f"  aws s3 cp ./exports s3://{wanted.buckets[0]}/ --recursive",
        "  tidegate status",
        "Ctrl-C stops the platform; its state stays.",
    ]


class LakeYamlWatch:
    """Watches a `lake.yaml`. It says when it is wrong, when it is right again, and which buckets need a new start.

    Args:
        path: the file.
        load: reads it, and raises LakeConfigError if it is wrong.
        buckets: returns the buckets that a configuration needs.
        say: called with each line.
        created: the buckets that are there.
    """

    def __init__(
        self,
        path: Path,
        load: Callable[[], LakeConfig],
        buckets: Callable[[LakeConfig], Collection[str]],
        say: Callable[[str], None],
        *,
        created: Collection[str],
    ) -> None:
        self._path, self._load, self._buckets, self._say = path, load, buckets, say
        self._stamp: tuple[int, int] | None = (0, 0)  # The first look reads the file, which may have changed since.
        self._created = set(created)
        self._is_wrong = False

    def look(self) -> None:
        """Read the file if it changed since the last call, and say what came of it."""
        stamp = self._read_stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            config = self._load()
        except LakeConfigError as error:
            self._is_wrong = True
            self._say(f"{self._path} is wrong: {error}")
            return
        if self._is_wrong:
            self._is_wrong = False
            self._say(f"{self._path} is right again")
        if new := sorted(set(self._buckets(config)) - self._created):
            self._created |= set(new)
            self._say(f"{self._path} names {', '.join(new)}: stop and start `tidegate dev`, which creates the bucket")

    def _read_stamp(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size
