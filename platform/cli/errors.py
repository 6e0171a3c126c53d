"""The error of a command whose text is all that a user needs."""

from __future__ import annotations


class CommandError(RuntimeError):
    """A command cannot do what was asked; the message says why and what to do."""
