"""The error of the local platform, and packages that some commands need and a deployment does not."""

from __future__ import annotations

from importlib.util import find_spec

from tidegate.platform.core.errors import UnavailableError


class LocalStackError(UnavailableError, RuntimeError):
    """The local platform cannot run on this machine.

    The first line says what is wrong and what to do. Further lines, if any, are the end of the log that shows it.
    """


def require_extra(extra: str, *modules: str) -> None:
    """Check that modules are installed.

    Raises:
        LocalStackError: a module is missing. The message names the extra of the package that installs it.
    """
    if missing := [module for module in modules if find_spec(module) is None]:
        raise LocalStackError(f"not installed: {', '.join(missing)}; install it with `pip install 'tidegate[{extra}]'`")
