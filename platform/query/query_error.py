"""The error of a query that cannot be run."""

from __future__ import annotations

from tidegate.platform.core.errors import ConfigurationError


class QueryError(ConfigurationError, ValueError):
    """A query names what the lake does not have. The message says what there is."""
