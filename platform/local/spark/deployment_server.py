"""The Spark Connect server of a deployment: on AWS's own S3 and DynamoDB, with the role of its machine."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tidegate.platform.core.config.commits import Commits, log_store_class
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.lake.disk import require_space
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.server_home import TOKEN_NAME, ServerHome, announce, withdraw
from tidegate.platform.lake.spark.token_source import TOKEN, TOKEN_COMMAND, TOKEN_FILE, TokenSource
from tidegate.platform.local.process.ports import LOOPBACK
from tidegate.platform.local.spark.jars import class_archive
from tidegate.platform.local.spark.server import ConnectServer, server_environ
from tidegate.platform.local.spark.server_settings import (
    LAKE_SETTINGS,
    PROCEDURES,
    endpoint_settings,
    log_store_settings,
    process_settings,
)

EVERY_NETWORK = "0.0.0.0"
#: Settings without which commits are lost or nothing works. Nobody may choose another value.
_FIXED = ("spark.delta.logStore.", "spark.hadoop.fs.s3a.performance.", "spark.sql.catalog.tidegate")
_HOSTS = (LOOPBACK, EVERY_NETWORK)
#: The chain of AWS's SDK: variables, profile, web identity (IRSA), container (ECS, Pod Identity), instance. S3A's own
#: chain has no profile and no web identity.
_CREDENTIALS = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")
_GIB = 1 << 30


@dataclass(frozen=True)
class DeployedSettings:
    """What a person chooses for a server.

    Attributes:
        region: region of the lake's bucket and of the commit table.
        endpoint: URL of another AWS than Amazon's; None for Amazon's.
        host: address to listen on, 127.0.0.1 or 0.0.0.0.
        port: port to listen on.
        master: Spark's master: `local[*]`, or a cluster's.
        memory: size of the driver's heap, in Java's notation.
        more: further settings, which take precedence.
        commits: how the lake coordinates commits.
    """

    region: str
    endpoint: str | None = None
    host: str = LOOPBACK
    port: int = 15002
    master: str = "local[*]"
    memory: str = "1g"
    more: dict[str, str] = field(default_factory=dict)
    commits: Commits = "dynamodb"


class DeployedServer(ConnectServer):
    """The server that `tidegate spark` runs.

    Args:
        home: folder of its configuration and temporary files; created if it is missing.
        wanted: its settings.
        token: where its token is. A file that does not exist is made, with a random token.
        on_ready: called after its start, before it counts as ready.

    Raises:
        BadSetting: a setting is wrong, or there is no token.
        SparkUnreachable: the token cannot be read.
    """

    def __init__(
        self,
        home: Path,
        wanted: DeployedSettings,
        token: SparkRemote,
        on_ready: Callable[[SparkRemote], None] | None = None,
    ) -> None:
        if wanted.host not in _HOSTS:
            raise BadSetting(
                f"--host {wanted.host}: choose {LOOPBACK} (this machine) or {EVERY_NETWORK} (every network). The "
                "command itself uses localhost, the only name to which PySpark sends a token without TLS"
            )
        if fixed := [name for name in wanted.more if name.startswith(_FIXED)]:
            raise BadSetting(f"--conf {fixed[0]}: the log store and the procedures are those of Tidegate; leave it out")
        if token.token is None and token.source is None:
            raise BadSetting(
                "the server needs a token, because every client that reaches its port runs code with its role: set "
                f"{TOKEN_FILE} to a file (which is made if it does not exist), {TOKEN_COMMAND} or {TOKEN}"
            )
        if token.source is not None:
            make_token_file(token.source)
        # The server keeps this token, whatever its file has later.
        self._token = token.source.read() if token.source else str(token.token)
        is_in_home = token.source == TokenSource(TOKEN_FILE, str(home / TOKEN_NAME))
        self._token_in_home = token.source if is_in_home else None
        remote = SparkRemote(f"sc://localhost:{wanted.port}", self._token)
        super().__init__(home, remote, wanted.port, "--port", on_ready, None)
        self._wanted = wanted
        self._home_lock: IO[str] | None = None

    def _settings(self, jars: Path) -> dict[str, str]:
        archive = class_archive(jars)
        wanted = self._wanted
        # Without memory a JVM may hang: its manager starts another one.
        conf = process_settings(
            self.home, jars, wanted.host, wanted.port, wanted.memory, archive, ["-XX:+ExitOnOutOfMemoryError"]
        )
        conf |= lake_settings(jars, wanted.region, wanted.endpoint, wanted.commits) | {"spark.master": wanted.master}
        if wanted.master.startswith("local"):
            # The other ports of Spark ask for a secret, which Spark makes itself.
            conf |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK, "spark.authenticate": "true"}
        return conf | wanted.more

    def _environ(self, spark: Path) -> dict[str, str]:
        is_local = self._wanted.master.startswith("local")
        clean = server_environ(
            os.environ,
            spark,
            self.home / "tmp",
            foreign=("TIDEGATE_SPARK_", "DAGSTER_"),
            kept=() if is_local else ("HADOOP_CONF_DIR", "YARN_CONF_DIR"),
        )
        # Otherwise Spark needs a name server that knows the name of this machine.
        here = {"SPARK_LOCAL_IP": LOOPBACK} if is_local else {}
        return clean | here | {TOKEN: self._token}

    def start(self, deadline: float = 60.0) -> None:
        """Start the server in a home that no other one uses, without the temporary files of one that was killed.

        Args:
            deadline: seconds until it must answer.

        Raises:
            UnavailableError: another server uses the home, or see `ConnectServer.start`.
        """
        require_space(self.home)
        if self._home_lock is None:
            self._home_lock = ServerHome(self.home).claim()
        shutil.rmtree(self.home / "tmp", ignore_errors=True)
        super().start(deadline)

    @property
    def is_token_replaced(self) -> bool:
        """Whether the home has another token for the next server. One that is being written does not count yet."""
        if self._token_in_home is None:
            return False
        if not Path(self._token_in_home.value).exists():
            return True
        try:
            return self._token_in_home.read() != self._token
        except SparkUnreachable:
            return False

    def announce(self) -> None:
        """Let clients of this home know that the server takes work."""
        assert self._home_lock is not None
        if self._token_in_home is not None:
            ServerHome(self.home).write_accepted(self._token)
        announce(self._home_lock, self.port)

    def stop(self, deadline: float = 10.0) -> None:
        """End the server. Clients that look for it meanwhile wait until its process is gone.

        Args:
            deadline: seconds before the server is killed.
        """
        if self._home_lock is not None:
            withdraw(self._home_lock)
        super().stop(deadline)


def lake_settings(
    jars: Path, region: str, endpoint: str | None = None, commits: Commits = "dynamodb"
) -> dict[str, str]:
    """Return the settings that a Spark server for a lake must have, whatever starts it.

    Args:
        jars: folder of Tidegate's jars on the machines of the driver and the executors.
        region: region of the lake's bucket and of the commit table.
        endpoint: URL of another AWS than Amazon's.
        commits: how the lake coordinates commits.
    """
    conf = {
        "spark.driver.extraClassPath": f"{jars}/*",
        "spark.executor.extraClassPath": f"{jars}/*",
        "spark.hadoop.fs.s3a.endpoint.region": region,
        "spark.hadoop.fs.s3a.aws.credentials.provider": _CREDENTIALS,
    }
    conf |= LAKE_SETTINGS | PROCEDURES | log_store_settings(log_store_class(commits))
    return conf | (endpoint_settings(endpoint) if endpoint else {})


def make_token_file(source: TokenSource) -> None:
    """Write a random token into a file that does not exist yet. Only its owner may read it.

    Raises:
        BadSetting: the file cannot be made.
    """
    if source.variable != TOKEN_FILE or Path(source.value).exists():
        return
    path = Path(source.value)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{secrets.token_urlsafe(32)}\n")
    except OSError as error:
        if path.exists():
            return  # made by another server, which starts at the same time
        raise BadSetting(f"{source} cannot be made: {error.strerror}") from None


def default_memory(limit: Path = _MEMORY_LIMIT) -> str:
    """Return half of the memory of this container or machine, at least 1 GiB, in Java's notation.

    Args:
        limit: the file with the container's limit in bytes, or `max` (cgroup v2).
    """
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no limit
        found = min(found, int(limit.read_text()))
    return f"{max(found // 2, _GIB) >> 20}m"
