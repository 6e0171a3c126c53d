"""Which lake a command talks to: a running local platform's, or the environment's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.load import LakeConfigError
from tidegate.platform.local.stack_file import StackInfo, client_environ, find_stack, find_starting
from tidegate.resources.settings import Settings
from tidegate.resources.spark.session import SparkUnreachable

#: Homes of `tidegate demo` and of `tidegate up` and `dev`, below the working directory.
DEFAULT_HOMES = (Path(".tidegate/demo"), Path(".tidegate/local"))


@dataclass(frozen=True)
class Client:
    """What a command talks to.

    Attributes:
        settings: the lake, and through what it is reached.
        home: of the local platform that it is on; None when the environment names everything.
    """

    settings: Settings
    home: Path | None

    def explain(self, error: SparkUnreachable) -> str:
        """What to do about a Spark server that does not answer."""
        if self.home is None or find_stack(self.home) is None:
            return str(error)
        return (
            f"the Spark server of the local platform on {self.home} does not answer: the platform is starting it "
            f"again, so repeat this in a minute; its log is {self.home}/logs/spark.log"
        )

    @contextmanager
    def reaching_spark(self) -> Iterator[None]:
        """Use Spark inside.

        Raises:
            CommandError: it does not answer, or the lake.yaml is wrong; the message says what to do.
        """
        try:
            yield
        except SparkUnreachable as error:
            raise CommandError(self.explain(error)) from None
        except LakeConfigError as error:
            raise CommandError("\n".join([str(error), *self.nowhere])) from None

    @property
    def nowhere(self) -> list[str]:
        """What else may be wrong with the environment's lake.yaml: it may need a platform that does not run."""
        if self.home is not None:
            return []
        homes = " or ".join(str(one) for one in DEFAULT_HOMES)
        return [f"no local platform runs on {homes} of this directory: `tidegate dev` starts one, --home names another"]


def client(home: Path | None, lake: Path | None = None, fits: Callable[[StackInfo], bool] = lambda _: True) -> Client:
    """What a command talks to.

    Args:
        home: of a running local platform; None looks into the default ones.
        lake: the lake.yaml, where it is another than the platform's or the environment's.
        fits: which of the default ones may be taken.

    Raises:
        CommandError: a home is given, and nothing runs there; a platform is still starting; or a variable of the
            environment is wrong.
    """
    for candidate in DEFAULT_HOMES if home is None else (home,):
        info = find_stack(candidate)
        if info is not None and (home is not None or fits(info)):
            return Client(Settings.of(client_environ(info.environ)).with_lake(lake), candidate)
    for candidate in (home,) if home is not None else DEFAULT_HOMES if lake is None else ():
        if pid := find_starting(candidate):
            raise CommandError(
                f"the local platform on {candidate} (process {pid}) is still starting: repeat this when it has said "
                f"where it is; its logs are in {candidate}/logs"
            )
    if home is not None:
        raise CommandError(
            f"no local platform runs on {home}: start one with `tidegate dev --home {home}` or "
            "`tidegate demo --keep`, or leave --home out"
        )
    return Client(environment_settings().with_lake(lake), None)


def environment_settings() -> Settings:
    """The settings of the environment.

    Raises:
        CommandError: a variable is wrong.
    """
    try:
        return Settings.from_environment()
    except ValueError as error:
        raise CommandError(str(error)) from None
