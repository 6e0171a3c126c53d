"""The kinds of errors that Tidegate raises on purpose. Each message says what is wrong and what to do.

Every error that leaves its module has one of these kinds, so that a caller may catch by kind. Any other exception is a
bug, or one of a library.
"""

from __future__ import annotations


class TidegateError(Exception):
    """An error that Tidegate explains."""


class ConfigurationError(TidegateError):
    """`lake.yaml`, the environment or a command is wrong. It stays wrong until a person corrects it."""


class DataError(TidegateError):
    """A file, a row or the state of a table does not allow what was asked."""


class UnavailableError(TidegateError):
    """Something that is needed does not answer, or is in use. The same may work later."""
