"""The process of a Spark Connect server, and the server of the local platform."""

from __future__ import annotations

import os
import secrets
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from importlib.util import find_spec
from pathlib import Path

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.session import probe
from tidegate.platform.lake.spark.token_source import TOKEN
from tidegate.platform.local.process.ports import (
    LOOPBACK,
    accepts_connections,
    free_port,
    hold_for_localhost,
    require_free,
)
from tidegate.platform.local.process.process import Process, spawn
from tidegate.platform.local.spark.conf import spark_conf
from tidegate.platform.local.spark.jars import class_archive, jars_folder
from tidegate.platform.local.spark.java import java_environ, require_java
from tidegate.platform.local.spark.server_settings import LOG_STORE, log4j_properties, properties_text

_SERVER_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


class ConnectServer(ABC):
    """One JVM with Spark, Delta and our procedures, behind Spark Connect.

    Every client that reaches the port runs code as this user, so the server requires a token.

    Args:
        home: folder of its configuration, temporary files and log; created if it is missing.
        remote: its address for clients on this machine, with its token.
        port: the port that it listens on.
        port_option: the option of the command that chooses another port.
        on_ready: called with the server's address after each start, restarts included, before the server counts as
            ready. It registers the SQL names.
        log: its log file; None lets it write to the stderr of this process.
    """

    def __init__(
        self,
        home: Path,
        remote: SparkRemote,
        port: int,
        port_option: str,
        on_ready: Callable[[SparkRemote], None] | None,
        log: Path | None,
    ) -> None:
        self.name = "Spark server"
        self.home = home.resolve()
        self.port = port
        self.remote = remote
        self.on_ready = on_ready
        self.process: Process | None = None
        self._port_option = port_option
        self._held: socket.socket | None = None
        self._log = log

    @abstractmethod
    def _settings(self, jars: Path) -> Mapping[str, str]:
        """Return every setting of the server, so that the machine's own Spark configuration has no effect."""

    @abstractmethod
    def _environ(self, spark: Path) -> Mapping[str, str]:
        """Return the environment of the server with its token, which must not be on the command line or in a file."""

    def _log_settings(self) -> str:
        """Return the settings of the server's log."""
        return log4j_properties()

    @property
    def alive(self) -> bool:
        """Whether the process of the server runs."""
        return self.process is not None and self.process.alive

    def start(self, deadline: float = 60.0) -> None:
        """Start the server, wait until it answers, then call `on_ready`.

        Args:
            deadline: seconds until it must answer.

        Raises:
            UnavailableError: the port is in use, Java or jars are missing, or the server was not ready in time. No
                process is left running.
        """
        jars = jars_folder()
        java = require_java()
        require_free(self.port, "Spark Connect server", self._port_option)
        if self._held is None:
            self._held = hold_for_localhost(self.port, "Spark Connect server", self._port_option)
        # The settings may have keys.
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in ("tmp/s3a", "derby", "warehouse"):
            (self.home / folder).mkdir(parents=True, exist_ok=True)
        (self.home / "log4j2.properties").write_text(self._log_settings())
        properties = self.home / "spark.properties"
        properties.unlink(missing_ok=True)
        with open(os.open(properties, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(properties_text(self._settings(jars)))
        spark = spark_home()
        self.process = spawn(
            self.name,
            server_command(spark, properties),
            log=self._log,
            env={**self._environ(spark), **java_environ(java, self.home / "java")},
            cwd=self.home,
        )
        try:
            self._wait_ready(self.process, time.monotonic() + deadline, deadline)
            if self.on_ready is not None:
                self.on_ready(self.remote)
        except BaseException:
            self.process.stop()
            raise

    def _wait_ready(self, process: Process, end: float, deadline: float) -> None:
        why = "no process listens on its port"
        while (left := end - time.monotonic()) > 0:
            if not process.alive:
                raise UnavailableError(
                    f"the Spark server ended at start with exit code {process.returncode}; {process.log_hint}"
                )
            if accepts_connections(self.port, 1.0):
                try:
                    probe(self.remote, min(left, 20.0))
                    return
                except SparkUnreachable as error:
                    why = str(error)
            time.sleep(0.1)
        raise UnavailableError(f"the Spark server was not ready within {deadline:.0f} s ({why}); {process.log_hint}")

    def stop(self, deadline: float = 10.0) -> None:
        """End the server and what it is writing. Does nothing when it is not running.

        Args:
            deadline: seconds before the server is killed.
        """
        if self.process is not None:
            self.process.stop(deadline)
        if self._held is not None:
            self._held.close()
            self._held = None


class SparkServer(ConnectServer):
    """The server of the local platform, on loopback and with a random token, as other users may be on the machine.

    Attributes:
        log_store: as the argument. A change counts at the next start.

    Args:
        home: folder of its configuration, temporary files and log; created if it is missing.
        aws: `AWS_ENDPOINT_URL`, `AWS_REGION` and keys of its S3.
        port: port on loopback; 0 takes a free one.
        on_ready: called with the server's address after each start, restarts included, before the server counts as
            ready. It registers the SQL names.
        cores: worker threads.
        memory: size of the heap, in Java's notation.
        log_store: class that publishes Delta commits; None takes Delta's own, without performance flags.
        own_catalog: whether our procedures are among the jars.
        conf: additional settings, which take precedence.
        log: its log file; None takes a file in the home.
    """

    def __init__(
        self,
        home: Path,
        aws: Mapping[str, str],
        *,
        port: int = 15002,
        on_ready: Callable[[SparkRemote], None] | None = None,
        cores: int = 2,
        memory: str = "3g",
        log_store: str | None = LOG_STORE,
        own_catalog: bool = True,
        conf: Mapping[str, str] | None = None,
        log: Path | None = None,
    ) -> None:
        port = port or free_port()
        # PySpark sends a token without TLS to this name only. Restarts keep the token, so that clients stay valid.
        remote = SparkRemote(f"sc://localhost:{port}", secrets.token_urlsafe(32))
        super().__init__(home, remote, port, "--spark-port", on_ready, log or home.resolve() / "spark.log")
        self._aws = dict(aws)
        self._cores = cores
        self._memory = memory
        self.log_store = log_store
        self._own_catalog = own_catalog
        self._conf = dict(conf or {})

    def _settings(self, jars: Path) -> dict[str, str]:
        return (
            spark_conf(
                home=self.home,
                port=self.port,
                jars=jars,
                aws=self._aws,
                cores=self._cores,
                memory=self._memory,
                log_store=self.log_store,
                own_catalog=self._own_catalog,
                class_archive=class_archive(jars),
            )
            | self._conf
        )

    def _environ(self, spark: Path) -> dict[str, str]:
        clean = server_environ(os.environ, spark, self.home / "tmp", foreign=("AWS_",))
        return clean | self._aws | {"SPARK_LOCAL_IP": LOOPBACK, TOKEN: str(self.remote.token)}


def server_command(spark: Path, properties: Path) -> list[str]:
    """Return the command line of the server, from Spark's folder and the file of all settings."""
    submit = [str(spark / "bin" / "spark-submit"), "--properties-file", str(properties)]
    return [*submit, "--class", _SERVER_CLASS, "spark-internal"]


def spark_home() -> Path:
    """Return Spark's folder.

    Raises:
        UnavailableError: pyspark is not installed.
    """
    # The folder of this Python's pyspark. SPARK_HOME is ignored, because the jars fit one version only.
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise UnavailableError("pyspark is not installed in this Python: install requirements/runtime.txt")
    return Path(spec.origin).parent


def server_environ(
    base: Mapping[str, str], spark: Path, temp: Path, foreign: tuple[str, ...] = (), kept: Collection[str] = ()
) -> dict[str, str]:
    """Return the environment of a server without what changes it unseen.

    Args:
        base: the environment of this process.
        spark: Spark's folder.
        temp: folder for its temporary files.
        foreign: how the names of further variables begin that it must not have.
        kept: names of variables that it has all the same.
    """
    unwanted = ("SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "JAVA_TOOL_OPTIONS", *foreign)
    clean = {
        name: value
        for name, value in base.items()
        if name in kept or (not name.startswith(unwanted) and "_proxy" not in name.lower())
    }
    return clean | {"SPARK_HOME": str(spark), "SPARK_LOCAL_DIRS": str(temp)}
