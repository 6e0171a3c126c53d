"""The error that a command reports without a trace."""

from __future__ import annotations

from tidegate.platform.core.errors import ConfigurationError


class CommandError(ConfigurationError):
    """A command cannot do what was asked. The message says why and what to do."""
