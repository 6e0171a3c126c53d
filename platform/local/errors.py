"""The error of the local platform."""

from __future__ import annotations

from tidegate.platform.core.errors import UnavailableError


class LocalStackError(UnavailableError, RuntimeError):
    """The local platform cannot run on this machine.

    The first line says what is wrong and what to do. Further lines, if any, are the end of the log that shows it.
    """
