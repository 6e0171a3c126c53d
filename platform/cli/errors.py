"""The error that a command reports without a trace."""

from __future__ import annotations


class CommandError(RuntimeError):
    """A command cannot do what was asked. The message says why and what to do."""
