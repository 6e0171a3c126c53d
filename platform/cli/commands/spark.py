"""`tidegate spark` runs the Spark Connect server of a deployment until a signal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from tidegate.platform.cli.environment import environment_settings
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.commits import Commits
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.wording import first_line, number_of
from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.server_home import IdleWatch, ServerHome
from tidegate.platform.lake.spark.session import probe
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.local.process.health import HealthPages, ServerHealth
from tidegate.platform.local.process.signals import wait_for_signal
from tidegate.platform.local.spark.deployment_server import DeployedServer, DeployedSettings, lake_settings
from tidegate.platform.local.spark.server_settings import properties_text

_PROBE_SECONDS = 10.0
#: Tables that are born on another server of the lake get their names on this one within so many seconds.
_NAMES_SECONDS = 300.0
_AGAIN_SECONDS = 30.0
_STARTS_WITHIN = 180.0
_SHOWN_TROUBLES = 20


def parse_settings(texts: Collection[str]) -> dict[str, str]:
    """Return Spark's settings of some texts `name=value`.

    Raises:
        CommandError: a text is not of that form.
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("spark."):
            # Its value may be a secret.
            raise CommandError(f"--conf {name!r} is not a setting of Spark: write --conf spark.name=value")
        found[name] = value
    return found


def read_settings(path: Path | None) -> dict[str, str]:
    """Return Spark's settings of a file with a line `name=value` for each. Empty lines and comments (`#`) have none.

    Raises:
        CommandError: the file cannot be read, or a line is not of that form. The message repeats no value.
    """
    if path is None:
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise CommandError(f"--conf-file {path} cannot be read: {first_line(error)}") from None
    found = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not name.startswith("spark."):
            raise CommandError(f"--conf-file {path}, line {number}: write a setting of Spark, spark.name=value")
        found[name] = value
    return found


def region_of(settings: Settings) -> str:
    """Return the region of the environment.

    Raises:
        CommandError: the environment has none.
    """
    found = settings.aws.session().region_name
    if not found:
        raise CommandError("no region: set AWS_REGION to the region of the lake's bucket and of its commit table")
    return str(found)


def print_settings(jars: Path, lake: Path | None) -> None:
    """Print the settings for a server that something else starts, as a file for `spark-submit --properties-file`.

    Args:
        jars: folder of Tidegate's jars on the machines of the server.
        lake: the lake.yaml, which says how commits are coordinated; None takes that of the environment. Without such a
            file, the settings are those of the default.
    """
    settings = environment_settings().with_lake(lake)
    commits: Commits = "dynamodb"
    if lake is not None or settings.lake_yaml.exists():
        commits = settings.config().lake.commits
    else:
        note = f"note: there is no {settings.lake_yaml}, so these are the settings for `commits: {commits}`"
        print(note, file=sys.stderr)
    print(properties_text(lake_settings(jars, region_of(settings), settings.aws.endpoint_url, commits)), end="")


class _NobodyUsesIt(Exception):
    """Nobody uses the server, so that it may end. The message says why it does."""


def run_spark(
    console: Console,
    lake: Path | None,
    home: Path,
    wanted: DeployedSettings,
    health_host: str,
    health_port: int,
    idle: float | None = None,
) -> None:
    """Run the server until a signal, or until nobody uses it.

    Args:
        console: takes what people read. The server's log goes to stderr.
        lake: the lake.yaml, whose tables get their SQL names; None takes that of the environment.
        home: folder of the server's files.
        wanted: its settings. Region and endpoint are those of the environment.
        health_host: address of `/readyz` and `/livez`.
        health_port: port of `/readyz` and `/livez`, 0 for a free one.
        idle: seconds without a client after which the server ends; None lets it run.

    Raises:
        UnavailableError: the server could not be started, or died.
        LakeConfigError: the lake.yaml is wrong.
    """
    settings = environment_settings().with_lake(lake)
    commits = settings.config().lake.commits
    wanted = replace(wanted, region=region_of(settings), endpoint=settings.aws.endpoint_url, commits=commits)
    server = DeployedServer(home, wanted, settings.spark)
    settings = replace(settings, spark=server.remote)
    health, ended = ServerHealth(), threading.Event()

    def say(line: str) -> None:
        console.print(line, highlight=False, soft_wrap=True, markup=False)

    pages = HealthPages(health, health_host, health_port)
    with pages:
        try:
            server.start(_STARTS_WITHIN)
            say(f"Spark Connect  {server.remote} ({wanted.master}, heap {wanted.memory})")
            say(f"health         http://localhost:{pages.port}/readyz and /livez")
            names = NameKeeper(settings, say)
            threading.Thread(target=names.run, args=(ended,), name="names", daemon=True).start()
            watch = IdleWatch(ServerHome(home), wanted.port, idle, time.monotonic()) if idle else None
            number = wait_for_signal(ServerWatch(server, names, health, watch).look)
            say(f"stopped by signal {number}")
        except _NobodyUsesIt as ending:
            say(f"stopped, because {ending}")
        finally:
            ended.set()
            server.stop()


class ServerWatch:
    """Asks a server whether it answers, and notes it.

    Args:
        server: it runs.
        names: gives its tables their names.
        health: takes what is found.
        idle: finds out whether nobody uses the server; None if that does not matter.
    """

    def __init__(
        self, server: DeployedServer, names: NameKeeper, health: ServerHealth, idle: IdleWatch | None = None
    ) -> None:
        self._server, self._names, self._health, self._idle = server, names, health, idle
        self._next = 0.0
        self._announced = False

    def look(self) -> None:
        """Look whether the server's process is there, and each ten seconds whether the server answers.

        Raises:
            UnavailableError: the process has ended, or has not answered for minutes.
            _NobodyUsesIt: nobody has used the server for some time, or its token was replaced and nobody uses it. No
                client begins to use it from now on.
        """
        assert self._server.process is not None
        self._server.process.require_alive()
        replaced = self._server.is_token_replaced
        if self._idle is not None and self._idle.is_over(time.monotonic(), at_once=replaced):
            raise _NobodyUsesIt("its token was replaced" if replaced else f"nobody used it for {self._idle.idle:g} s")
        if self._names.given and not self._announced:
            self._server.announce()
            self._announced = True
        if time.monotonic() < self._next:
            return
        try:
            probe(self._server.remote)
        except SparkUnreachable as error:
            self._health.note_trouble(str(error))
            if why := self._health.liveness():
                raise UnavailableError(f"the Spark server gave {why}") from None
        else:
            self._health.note_answer()
            if not self._names.given:
                self._health.note_trouble("the tables have no SQL names yet")
                return  # and look again in a second
        self._next = time.monotonic() + _PROBE_SECONDS


class NameKeeper:
    """Gives the tables of a lake their SQL names on a server: all at its start, and later those that are new.

    Attributes:
        given: whether the names were given once.

    Args:
        settings: the lake, with this server.
        say: takes a line for people.
    """

    def __init__(self, settings: Settings, say: Callable[[str], None]) -> None:
        self.given = False
        self._settings, self._say = settings, say
        self._known: tuple[dict[str, float], list[str]] | None = None

    def run(self, ended: threading.Event) -> None:
        """Give names until `ended` is set. An error is printed, and the next round tries again."""
        while not ended.is_set():
            pause = _NAMES_SECONDS
            try:
                self.name_new_tables()
            except Exception as error:  # of AWS, of Spark, or of a file of the lake: the server itself continues
                self._say(f"the tables have no SQL names now: {first_line(error)}")
                pause = _AGAIN_SECONDS
            self.given = True
            ended.wait(pause)

    def name_new_tables(self) -> None:
        """Give all tables their names, if there is another table since the last call."""
        with self._settings.open_lake() as lake:
            store = lake.store
            births = store.births.birth_times()  # A reset gives a table another.
            found = births, store.objects.folders(store.bucket, store.key("silver", ""))
            if found == self._known or not births:
                return
            unnamed = SqlNames(lake).name_tables()
        self._known = found
        self._say(f"SQL names      of {number_of(len(births), 'table')}, {len(unnamed)} without")
        for each in unnamed[:_SHOWN_TROUBLES]:
            self._say(str(each))
