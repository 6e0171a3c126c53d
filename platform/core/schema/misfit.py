"""Why a file does not fit its table."""


class Misfit(ValueError):
    """A file does not fit its table. The message is the reason."""
