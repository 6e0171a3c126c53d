"""Packages that some commands need and a deployment does not."""

from __future__ import annotations

from importlib.util import find_spec

from tidegate.platform.core.errors import UnavailableError


def require_extra(extra: str, *modules: str) -> None:
    """Check that modules are installed.

    Raises:
        UnavailableError: a module is missing. The message names the extra of the package that installs it.
    """
    if missing := [module for module in modules if find_spec(module) is None]:
        names = ", ".join(missing)
        raise UnavailableError(f"not installed: {names}; install the extra `{extra}` (docs/start/install.md)")
