"""A Spark server of this machine that is started when it is needed, and ends when nobody uses it."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from tidegate.platform.core.config.spark import SparkSpec
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.spark.remote import REMOTE, SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable, TokenRefused
from tidegate.platform.lake.spark.server_home import ACCEPTED, LOG, STARTING, TOKEN_NAME, USERS, ServerHome, note_use
from tidegate.platform.lake.spark.session import probe
from tidegate.platform.lake.spark.token_source import TOKEN, TOKEN_COMMAND, TOKEN_FILE, TokenSource

_HOME = Path(".tidegate/spark-on-demand")
#: Seconds within which a server that ends has ended, and within which the port of one that was killed is free.
_ENDS_WITHIN = 30.0
#: Seconds within which a server takes work. `tidegate spark` itself gives up after 180, and says why.
_STARTS_WITHIN = 240.0
_PAUSE, _MOMENT = 0.2, 0.5
#: Credentials of a session, which ends after an hour or so. A server would keep them for the work of all clients.
_SESSION = "AWS_SESSION_TOKEN"
_SHOWN_LINES = 12
_SHOWN_BYTES = 16 * 1024
#: Servers that this process started, so that those which have ended are not left as zombies.
_started: list[subprocess.Popen[bytes]] = []


class ServerOnDemand:
    """The server of one lake on this machine. The processes of the lake share it.

    Args:
        spec: `spark` of lake.yaml.
        lake_yaml: relative paths of `spec` begin at its folder.
        environ: variables of this process, with credentials and region.
        secrets: names of variables that the server does not get.
    """

    def __init__(
        self, spec: SparkSpec, lake_yaml: Path, environ: Mapping[str, str], secrets: Collection[str] = ()
    ) -> None:
        self._spec, self._lake_yaml, self._environ = spec, lake_yaml.absolute(), environ
        self._unwanted = {REMOTE, TOKEN, TOKEN_COMMAND, *secrets}
        self.home = ServerHome(self._lake_yaml.parent / (spec.home or _HOME))
        self._users: IO[str] | None = None
        self._found: SparkRemote | None = None

    @property
    def is_always_there(self) -> bool:
        """False: it is only there for work."""
        return False

    def obtain(self) -> SparkRemote:
        """Return the server. It is started unless it runs, and it does not end before `release`.

        Raises:
            SparkUnreachable: it did not start, and the message has the end of its log. Or this client may not start it.
        """
        if self._users is not None and self._found is not None:
            return self._found
        try:
            self._begin_use(_ENDS_WITHIN)
            self._found = self._find_ready() or self._start()
        except UnavailableError as error:
            self.release()
            raise SparkUnreachable(str(error)) from None
        except BaseException:
            self.release()
            raise
        return self._found

    def find(self) -> list[SparkRemote]:
        """Return the server if it runs. It then does not end before `release`."""
        if self._users is None and not self.home.is_taken:
            return []
        try:
            self._begin_use(_MOMENT)
            self._found = self._find_ready()
        except UnavailableError:
            self._found = None
        if self._found is None:
            self.release()
            return []
        return [self._found]

    def server_of(self, table: str) -> str:
        """Return nothing: all tables have the same server."""
        return ""

    def release(self) -> None:
        """Let the server end once nobody else uses it."""
        users, self._users, self._found = self._users, None, None
        if users is not None:
            note_use(users)
            users.close()

    def describe(self) -> str:
        """Return a sentence for people about the server now."""
        port = self.home.find_port()
        if port is not None:
            return f"running on port {port}; ends when nobody has used it for {self._spec.idle} s"
        if self.home.is_taken:
            return "starting, or ending"
        return "not running, because there is no work; the next run starts it"

    def _begin_use(self, patience: float) -> None:
        if self._users is not None:
            return
        # Only a server that ends holds this lock alone for longer than a moment, until its process is gone.
        self._users = self.home.take(USERS, fcntl.LOCK_SH, time.monotonic() + patience)
        if self._users is None:
            raise UnavailableError(
                f"the Spark server of {self.home.folder} has not ended for {patience:.0f} s, although nobody used "
                f"it: end its process, and see {self.home.folder / LOG}"
            )
        note_use(self._users)

    def _find_ready(self) -> SparkRemote | None:
        """Return the server if it takes work.

        Raises:
            SparkUnreachable: it takes work, but its token is not in the folder: somebody else started it.
        """
        port = self.home.find_port()
        if port is None:
            return None
        # The server of an earlier version has only the file from which it read its token.
        accepted = self.home.folder / ACCEPTED
        token = TokenSource(TOKEN_FILE, str(accepted if accepted.exists() else self.home.folder / TOKEN_NAME))
        remote = SparkRemote(f"sc://localhost:{port}", source=token)
        try:
            _probe_with(token, remote)
        except TokenRefused as error:
            raise SparkUnreachable(
                f"the Spark server of {self.home.folder} runs on port {port} with a token that this process does not "
                f"have ({error}): end that server, or give `spark` in {self._lake_yaml} another `home` and `port`"
            ) from None
        except SparkUnreachable:
            return None
        return remote

    def _start(self) -> SparkRemote:
        """Start the server, or wait for another client that starts it, and for one that was killed to be gone."""
        began = time.monotonic()
        starting = self.home.take(STARTING, fcntl.LOCK_EX, began + _STARTS_WITHIN)
        if starting is None:
            raise UnavailableError(self._complain(f"did not start within {_STARTS_WITHIN:.0f} s"))
        with starting:
            process: subprocess.Popen[bytes] | None = None
            while (remote := self._find_ready()) is None:
                if process is None:
                    if not self.home.is_taken:
                        self._require_lasting_credentials()
                        process = self._launch() if self._is_port_free(began) else None
                elif process.poll() is not None and not self.home.is_taken:
                    raise UnavailableError(self._complain(f"ended at its start with exit code {process.returncode}"))
                if time.monotonic() > began + _STARTS_WITHIN:
                    raise UnavailableError(self._complain(f"did not take work within {_STARTS_WITHIN:.0f} s"))
                time.sleep(_PAUSE)
            return remote

    def _require_lasting_credentials(self) -> None:
        if self._environ.get(_SESSION):
            raise UnavailableError(
                f"no Spark server runs, and this process starts none because {_SESSION} is set, whose session would "
                "end under the runs of others: let a run of Dagster start the server, or start `tidegate spark` "
                f"yourself and set {REMOTE}"
            )

    def _is_port_free(self, began: float) -> bool:
        """Return whether no process listens on the port. The server of a process that was killed still may."""
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                tried.bind(("127.0.0.1", self._spec.port))
                return True
        if time.monotonic() < began + _ENDS_WITHIN:
            return False
        raise UnavailableError(
            f"port {self._spec.port} is in use, and not by the Spark server of {self.home.folder}: give `spark` in "
            f"{self._lake_yaml} another `port`, or stop the process that listens on it"
        )

    def _launch(self) -> subprocess.Popen[bytes]:
        log = self.home.folder / LOG
        with suppress(FileNotFoundError):
            log.replace(log.with_name(f"{LOG}.1"))
        with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as sink:
            # In a session of its own: the end of this run, or Ctrl-C here, is not the end of the server.
            process = subprocess.Popen(
                self.command_line(),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env=self.server_variables(),
                start_new_session=True,
            )
        _started[:] = [*(each for each in _started if each.poll() is None), process]
        return process

    def command_line(self) -> list[str]:
        """Return the command that runs the server."""
        spec, folder = self._spec, self._lake_yaml.parent
        words = [sys.executable, "-P", "-m", "tidegate.platform.cli.main", "spark"]
        words += ["--lake", str(self._lake_yaml), "--home", str(self.home.folder), "--port", str(spec.port)]
        words += ["--health-port", "0", "--idle", str(spec.idle)]
        words += ["--memory", spec.memory] if spec.memory else []
        return words + (["--conf-file", str(folder / spec.conf_file)] if spec.conf_file else [])

    def server_variables(self) -> dict[str, str]:
        """Return the environment of the server: that of its first client without secrets, with a token of its own."""
        return {name: value for name, value in self._environ.items() if name not in self._unwanted} | {
            TOKEN_FILE: str(self.home.folder / TOKEN_NAME),
            "PYTHONUNBUFFERED": "1",
        }

    def _complain(self, what: str) -> str:
        log = self.home.folder / LOG
        return f"the Spark server of {self.home.folder} {what}; see {log}\n{tail_of(log)}".rstrip("\n")


def _probe_with(token: TokenSource, remote: SparkRemote) -> None:
    try:
        token.read()
    except SparkUnreachable as error:
        raise TokenRefused(str(error)) from None
    probe(remote)


def tail_of(log: Path) -> str:
    """Return the last lines of a log; empty if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _SHOWN_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-_SHOWN_LINES:])
