"""The launcher's side of a warm process."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from dagster._core.instance.ref import InstanceRef
from dagster._core.origin import RepositoryPythonOrigin
from dagster_shared.serdes import serialize_value

from tidegate.platform.core.errors import UnavailableError

#: Seconds for an import of the code location on a busy machine, and for a fork.
_WARM_WITHIN, _FORKED_WITHIN = 120.0, 30.0


class NotForked(Exception):
    """A run could not be started from the warm process. The message says why."""


class NoAnswer(UnavailableError, NotForked):
    """The warm process did not answer whether it started the run."""


@dataclass(frozen=True)
class Launch:
    """A run to start.

    Attributes:
        arguments: an `ExecuteRunArgs`, the arguments of `dagster api execute_run`.
        locks: folder of the locks of runs.
    """

    run_id: str
    arguments: str
    locks: Path


class WarmProcess:
    """A process that has one code location in memory and forks runs.

    Args:
        origin: the origin of the code location.
        ref: the Dagster instance of the runs.

    Raises:
        NotForked: the process could not be started, or the code location does not load in it.
    """

    def __init__(self, origin: RepositoryPythonOrigin, ref: InstanceRef) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    origin.executable_path or sys.executable,
                    "-m",
                    "tidegate.platform.launcher.fork_server",
                    str(theirs.fileno()),
                ],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._connection = Connection(ours.detach())
        self._ask((serialize_value(origin), serialize_value(ref)), _WARM_WITHIN)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def fork(self, launch: Launch) -> int:
        """Start a run.

        Args:
            launch: the run.

        Returns:
            The process id of the run.

        Raises:
            NotForked: the warm process refuses.
            NoAnswer: the warm process died, or was killed because it did not answer. The run may have started.
        """
        answer = self._ask(launch, _FORKED_WITHIN)
        if isinstance(answer, str):
            raise NotForked(answer)
        return answer

    def close(self) -> None:
        """Let the process end after its runs have ended."""
        self._connection.close()

    def _ask(self, question: object, seconds: float) -> int | str:
        try:
            self._connection.send(question)
            if not self._connection.poll(seconds):
                raise TimeoutError
            answer: int | str = self._connection.recv()
        except (OSError, EOFError) as error:
            self._connection.close()
            if isinstance(error, TimeoutError):
                self._process.kill()
                raise NoAnswer(f"the warm process did not answer within {seconds:.0f} s") from None
            raise NoAnswer(f"the warm process ended with exit code {self._exit_code()}") from None
        return answer

    def _exit_code(self) -> int:
        try:
            return self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
