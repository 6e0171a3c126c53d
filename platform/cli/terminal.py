"""The console of the commands."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tidegate.platform.core.first_line import visible

#: Columns of a console that is no terminal.
_UNBOUNDED = 100_000


class Terminal(Console):
    """A console that escapes control characters of the text, except line ends: a producer's text has no effect.

    Styles and cursor movements of the console itself are not text, and stay.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Returns the segments to print, with control characters escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def command_console() -> Terminal:
    """Returns a console as wide as the terminal. In a log or a pipe it ends no line, and cuts no cell, by itself."""
    console = Terminal()
    return console if console.is_terminal else Terminal(width=_UNBOUNDED)
