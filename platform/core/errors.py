"""The kinds of errors that Tidegate raises on purpose. Each message says what is wrong and what to do.

Every error that leaves its module has one of these kinds, so that a caller may catch by kind. Any other exception is a
bug, or one of a library; an AssertionError is a bug that Tidegate has found.
"""

from __future__ import annotations


class TidegateError(Exception):
    """An error that Tidegate explains."""


class ConfigurationError(TidegateError):
    """`lake.yaml`, the environment or a command is wrong. It stays wrong until a person corrects it."""


class BadSetting(ConfigurationError, ValueError):
    """One value that a person chose is not valid. Pydantic adds the place of a value of `lake.yaml`."""


class DataError(TidegateError):
    """A file, a row or the state of a table does not allow what was asked."""


class BadValue(DataError, ValueError):
    """One text, file or row is not what it must be. Where several are read, the others are not affected."""


class BadParquet(DataError, ValueError):
    """The object is not a Parquet file that can enter a table. The message is the reason."""


class Misfit(DataError, ValueError):
    """A file does not fit its table. The message is the reason."""


class UnavailableError(TidegateError):
    """Something that is needed does not answer, or is in use. The same may work later."""
