"""The error of a Spark server that does not answer. Who only catches it loads no Spark client."""

from __future__ import annotations

from tidegate.platform.core.errors import UnavailableError


class SparkUnreachable(UnavailableError):
    """No Spark Connect server answers at the address. The message says what to do."""


class SparkSilent(SparkUnreachable):
    """Something listens, and did not answer in time. It may be busy."""


class TokenRefused(SparkUnreachable):
    """A server answers, and refuses the token of this client, or that it has none."""
