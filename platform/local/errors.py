"""The error of the local platform."""

from __future__ import annotations


class LocalStackError(RuntimeError):
    """Something on this machine keeps the local platform from running.

    The first line says what is wrong and what to do about it; further lines, where there are any, are the
    tail of the log that shows it.
    """
