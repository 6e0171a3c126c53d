"""The log of a run or a tick, in which no text of a producer controls a terminal or forges a line."""

from __future__ import annotations

from logging import Logger

from tidegate.platform.core.wording import one_line, show_controls


class RunLog:
    """The lines of one log. Control characters of a line are written out as Python does.

    Args:
        log: that of Dagster's context.
    """

    def __init__(self, log: Logger) -> None:
        self._log = log

    def info(self, line: str) -> None:
        """Write a line."""
        self._log.info(one_line(line))

    def warning(self, line: str) -> None:
        """Write a line of a warning."""
        self._log.warning(one_line(line))

    def error(self, line: str) -> None:
        """Write a line of an error."""
        self._log.error(one_line(line))

    def trace(self, lines: str) -> None:
        """Write an error of several lines."""
        self._log.error(show_controls(lines))
