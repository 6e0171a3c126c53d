"""A PostgreSQL server of the machine's packages, in a temporary folder, for one test."""

from __future__ import annotations

import os
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from tests.support.plugins.processes import eventually

#: The port in the printed dagster.yaml.
PORT = 5432


class Postgres:
    """Starts a server, which ends with the `with` block, or with this process.

    Its port is PostgreSQL's own, at an address of its own of this machine, so that other servers do not matter. It
    cannot run as root, so root starts it as the user that Debian's package creates.

    Attributes:
        host: its address.
        user: the only user, and the name of the only database.
        password: of the user.
    """

    def __init__(self) -> None:
        self.host = f"127.{random.randint(1, 254)}.{random.randint(1, 254)}.{random.randint(1, 254)}"
        self.user, self.password = "tidegate", secrets.token_urlsafe(16)
        self._folder = Path(tempfile.mkdtemp(prefix="tidegate-postgres-"))
        self._owner: dict[str, Any] = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam("postgres")
            self._owner = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": [], "cwd": self._folder}
            os.chown(self._folder, entry.pw_uid, entry.pw_gid)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        (given := self._folder / "password").write_text(self.password)
        if self._owner:
            os.chown(given, self._owner["user"], self._owner["group"])
        data = self._folder / "data"
        secured = ["--auth=scram-sha-256", f"--username={self.user}", f"--pwfile={given}"]
        made = subprocess.run(
            [_program("initdb"), *secured, "--no-sync", "--encoding=UTF8", "--locale=C", f"--pgdata={data}"],
            **self._owner, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr.decode()
        with (self._folder / "log").open("w") as log:
            self._process = subprocess.Popen(
                # `-F`: nothing has to survive a power cut.
                ["setpriv", "--pdeathsig=INT", _program("postgres"), "-F",
                 f"-D{data}", f"-h{self.host}", f"-k{self._folder}"],
                **self._owner, stdout=log, stderr=log,
            )  # fmt: skip
        started = eventually(lambda: self._accepts() or self._process.poll() is not None, 60)  # type: ignore[union-attr]
        assert started
        assert self._accepts(), (self._folder / "log").read_text()
        subprocess.run(
            [_program("createdb"), f"--host={self.host}", f"--username={self.user}", self.user],
            env={**os.environ, "PGPASSWORD": self.password}, timeout=60, check=True,
        )  # fmt: skip

    def _accepts(self) -> bool:
        with suppress(OSError), socket.create_connection((self.host, PORT), 1.0):
            return True
        return False

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # SIGTERM would wait for its clients
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(30)
        shutil.rmtree(self._folder, ignore_errors=True)


def _program(name: str) -> str:
    """Return the path of a program of PostgreSQL. Debian has the server's in a folder that is not on the path."""
    found = [str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))]
    path = shutil.which(name) if not found else found[-1]
    assert path, "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    return path
