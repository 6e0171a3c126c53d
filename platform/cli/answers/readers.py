"""What `tidegate catalog readers` prints with `--json`."""

from __future__ import annotations

from tidegate.platform.cli.answers.answer import Answer


class ReaderAnswer(Answer):
    """Whether an engine reads a table."""

    reader: str
    """The engine, with the version that was tried."""
    reads: bool
    """Whether it reads the table."""
    forbids: tuple[str, ...]
    """Features of the table that the engine does not read, or reads wrong."""


class TableReadersAnswer(Answer):
    """The engines that read a table."""

    table: str
    """SQL name."""
    readers: tuple[ReaderAnswer, ...]
    """Each engine that is known."""


class ReadersAnswer(Answer):
    """The engines that read each table."""

    tables: tuple[TableReadersAnswer, ...]
    """The tables of bronze and silver that exist."""
