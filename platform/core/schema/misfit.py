"""Why a file does not fit its table."""

from tidegate.platform.core.errors import DataError


class Misfit(DataError, ValueError):
    """A file does not fit its table. The message is the reason."""
