"""Finds the lake that a command works on, and who asks: of a running local platform, or of the environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.load import LakeConfigError
from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.local.process.ports import bypass_proxy
from tidegate.platform.local.stack_file import StackInfo, client_environ, find_stack, find_starting

if TYPE_CHECKING:
    from tidegate.platform.lake.lake import Lake

#: Homes of `tidegate demo` and of `tidegate up` and `tidegate dev`, relative to the working directory.
DEFAULT_HOMES = (Path(".tidegate/demo"), Path(".tidegate/local"))


@dataclass(frozen=True)
class Client:
    """The lake that a command works on.

    Attributes:
        settings: the lake, and the endpoints that reach it.
        home: home of the local platform that runs the lake; None when the environment names everything.
    """

    settings: Settings
    home: Path | None

    @contextmanager
    def open_lake(self) -> Iterator[Lake]:
        """Open the lake for the commands in the block. Its Spark session is closed afterwards.

        Raises:
            CommandError: the Spark server does not answer, or lake.yaml is wrong. The message says what to do.
        """
        try:
            with self.settings.open_lake() as lake:
                yield lake
        except SparkUnreachable as error:
            raise CommandError(self.explain(error)) from None
        except LakeConfigError as error:
            raise CommandError("\n".join([str(error), *self.platform_hints])) from None

    def explain(self, error: SparkUnreachable) -> str:
        """Return what to do about a Spark server that does not answer."""
        if self.home is None or find_stack(self.home) is None:
            return "\n".join([str(error), *self.platform_hints])
        return (
            f"the Spark server of the local platform on {self.home} does not answer: the platform is "
            f"restarting it. Repeat the command in a minute. The log of the server is {self.home}/logs/spark.log"
        )

    @property
    def platform_hints(self) -> list[str]:
        """Lines for an error in the environment's lake.yaml: the lake may need a platform that does not run."""
        return [] if self.home is not None else platform_hints()


def platform_hints() -> list[str]:
    """Return a line for a lake that cannot be reached, if no local platform runs on a default home."""
    if any(find_stack(home) for home in DEFAULT_HOMES):
        return []
    homes = " or ".join(str(home) for home in DEFAULT_HOMES)
    return [f"no local platform runs on {homes} of this directory: `tidegate dev` starts one, --home names another"]


def client(home: Path | None, lake: Path | None = None, fits: Callable[[StackInfo], bool] = lambda _: True) -> Client:
    """Find the lake that a command works on.

    Args:
        home: home of a running local platform; None tries the default homes.
        lake: a lake.yaml to use instead of the platform's or the environment's.
        fits: whether a platform on a default home may be used.

    Raises:
        CommandError: nothing runs on the given home; a platform is still starting; or a variable of the environment
            is wrong.
    """
    for candidate in DEFAULT_HOMES if home is None else (home,):
        info = find_stack(candidate)
        if info is not None and (home is not None or fits(info)):
            bypass_proxy()
            return Client(Settings.from_environ(client_environ(info.environ)).with_lake(lake), candidate)
    for candidate in (home,) if home is not None else DEFAULT_HOMES if lake is None else ():
        if pid := find_starting(candidate):
            raise CommandError(
                f"the local platform on {candidate} (process {pid}) is still starting. Repeat the command when "
                f"the platform has printed its addresses. Its logs are in {candidate}/logs"
            )
    if home is not None:
        raise CommandError(
            f"no local platform runs on {home}: start one with `tidegate dev --home {home}` or "
            "`tidegate demo --keep`, or leave --home out"
        )
    return Client(environment_settings().with_lake(lake), None)


def environment_settings() -> Settings:
    """Read the settings from the environment.

    Raises:
        CommandError: a variable is wrong.
    """
    try:
        return Settings.from_environment()
    except ValueError as error:
        raise CommandError(str(error)) from None


def lake_file(given: Path | None) -> Path:
    """Return the lake.yaml of a command that reaches no lake: the given one, or that of the environment.

    Raises:
        CommandError: a variable is wrong.
    """
    return given or environment_settings().lake_yaml
