"""Why a file does not fit its table."""


class Misfit(ValueError):
    """A file does not fit its table; the message is the reason."""
