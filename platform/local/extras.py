"""Packages that a deployment does not need, and some commands do."""

from __future__ import annotations

from importlib.util import find_spec

from tidegate.platform.local.errors import LocalStackError


def require_extra(extra: str, *modules: str) -> None:
    """Say which extra of the package brings the modules that are not installed.

    Raises:
        LocalStackError: one is not.
    """
    if missing := [module for module in modules if find_spec(module) is None]:
        raise LocalStackError(f"not installed: {', '.join(missing)}; install it with `pip install 'tidegate[{extra}]'`")
