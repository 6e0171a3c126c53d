"""A bronze run, or a silver merge, in a separate process, which tests kill and stop."""

from __future__ import annotations

import functools
import multiprocessing
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.servers.child import end_with_parent
from tests.support.servers.death import die_at
from tidegate.platform.bronze.listener import LogListener
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.lake.lake import Lake
from tidegate.platform.local.process.process import tail
from tidegate.platform.silver.merge import merge_table
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource, lake_path

#: Maximum seconds for anything here. Only a failing test waits so long.
DEADLINE = 150.0

#: Seconds after which a client ends without a signal: Spark's client retries a dead server for ten minutes.
_LIFETIME = 240

# Forked from a process that has imported everything: importing costs more than a run.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    [
        "tidegate.platform.bronze.run",
        "tidegate.platform.silver.merge",
        "tidegate.resources.lake_resource",
        "tidegate.platform.routes.forwarder",
        "tidegate.platform.intake.tick",
        "pyspark.sql.connect.session",
    ]
)


def wait_until(met: Callable[[], bool], what: str, deadline: float = DEADLINE) -> None:
    """Wait for a condition. Raises TimeoutError, naming `what`, if it is not met in time."""
    end = time.monotonic() + deadline
    while not met():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {deadline:g} s")
        time.sleep(0.02)


class Client:
    """A bronze run in a separate process, which ends with the test's process at the latest.

    Args:
        name: name of its log and marker; unique in the folder.
        folder: folder of log and marker.
        environ: its environment: the lake, its servers.
        table: table key.
        seam: the seam at which it is killed; None for no kill.
        rounds: number of runs, each of which starts when the file `go-<round>` is in the folder.
        merging: whether it is a merge of the table's silver instead of a bronze run.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        environ: Mapping[str, str],
        table: str,
        seam: str | None = None,
        rounds: int = 0,
        merging: bool = False,
    ) -> None:
        self.seam = seam
        self._marker = folder / f"marker-{name}"
        self._log = folder / f"client-{name}.log"
        death = (seam, self._marker) if seam else None
        self._process = processes.Process(
            target=_main, args=(environ, self._log, table, folder, death, rounds, merging), daemon=True
        )
        self._process.start()

    @property
    def alive(self) -> bool:
        """Whether the process exists, running or stopped."""
        return self._process.is_alive()

    @property
    def failed(self) -> bool:
        """Whether it has ended with an error."""
        return self._process.exitcode not in (None, 0)

    def wait_killed(self) -> None:
        """Wait until it has died by SIGKILL at its seam. Fails if it ended otherwise."""
        code = self.wait_ended()
        assert self._marker.exists(), f"seam {self.seam} was not reached; exit code {code}\n{self.output()}"
        assert code == -signal.SIGKILL, self.output()

    def wait_ended(self) -> int:
        """Wait until it has ended, and return its exit code, -n for signal n."""
        self._process.join(DEADLINE)
        assert self._process.exitcode is not None, f"still running\n{self.output()}"
        return self._process.exitcode

    def finished(self) -> None:
        """Wait for its end, which must be successful."""
        assert self.wait_ended() == 0, self.output()

    def pause(self) -> None:
        """Send SIGSTOP."""
        os.kill(self._pid, signal.SIGSTOP)
        wait_until(self._is_stopped, "client to stop")

    def resume(self) -> None:
        """Send SIGCONT."""
        if self.alive:
            os.kill(self._pid, signal.SIGCONT)

    def kill(self) -> None:
        """Send SIGKILL, whatever its state, and wait."""
        self._process.kill()
        self.wait_ended()

    def output(self) -> str:
        """Return the errors of its output, one line each, and the end of the output.

        The first line of a trace says most.
        """
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        errors = [line for line in lines if re.match(r"(?:\w+\.)*\w*(?:Error|Exception)\b", line)]
        return "\n".join([*errors, tail(self._log, 60)])

    @property
    def _pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def _is_stopped(self) -> bool:
        found = subprocess.run(["ps", "-o", "stat=", "-p", str(self._pid)], capture_output=True, text=True, timeout=30)
        return found.stdout.strip().startswith("T")


def _main(
    environ: Mapping[str, str],
    log: Path,
    table_key: str,
    folder: Path,
    death: tuple[str, Path] | None,
    rounds: int,
    merging: bool,
) -> None:
    end_with_parent(signal.SIGKILL)
    if death:
        die_at(*death)
    signal.alarm(_LIFETIME)
    with log.open("ab") as sink:
        os.dup2(sink.fileno(), 1)
        os.dup2(sink.fileno(), 2)
    os.environ.clear()
    os.environ.update(environ)
    # No retries: an S3 that answers 503 in these tests never recovers.
    resource = LakeResource(
        lake_yaml=lake_path(),
        spark_remote=os.environ["SPARK_REMOTE"],
        spark_token=os.environ["SPARK_CONNECT_AUTHENTICATE_TOKEN"],
        aws=AwsResource(max_attempts=1),
    )
    with resource.open_lake(table_key) as lake:
        if merging:
            (spec,) = (spec for spec in lake.config.tables if spec.table_key.encode() == table_key)
            merge_table(lake, spec, functools.partial(print, flush=True))
            return
        if not rounds:
            _run(lake, table_key)
            return
        lake.table(table_key).ledger.clock()  # connects to Spark before the race
        for i in range(rounds):
            (folder / f"ready-{i}-{os.getpid()}").touch()
            while not (folder / f"go-{i}").exists():
                time.sleep(0.002)
            _run(lake, table_key)
            (folder / f"done-{i}-{os.getpid()}").touch()


def _run(lake: Lake, table_key: str) -> None:
    run_table(
        lake.table(table_key),
        RunOptions(run_id=f"client-{os.getpid()}"),
        LogListener(functools.partial(print, flush=True)),
    )
