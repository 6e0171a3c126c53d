"""The console of the commands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from tidegate.platform.core.wording import show_controls

#: Columns of a console that is not a terminal.
_UNBOUNDED = 100_000


class Terminal(Console):
    """A console on which a producer's text has no effect: control characters are escaped, except line ends.

    Styles and cursor movements of the console itself are not text, and stay. Rich's own grammars are off: `[b]` is not
    a style, and `:warning:` no picture.

    Args:
        markup: whether `[bold]` is a style, for consoles that print no text of producers.
        options: of `Console`.
    """

    def __init__(self, *, markup: bool = False, **options: Any) -> None:
        super().__init__(markup=markup, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text that is as wide as it is printed, so that no table cuts it.

        A text without any width, such as an accent without its letter, is written as codes.
        """
        shown = show_controls(text)
        return super().render_str(shown if cell_len(shown) else ascii(shown)[1:-1], **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return the segments to print, with control characters escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=show_controls(segment.text))


def command_console(*, markup: bool = False) -> Terminal:
    """Return a console as wide as the terminal. In a log or a pipe it ends no line, and cuts no cell, by itself.

    Args:
        markup: as `Terminal` has it.
    """
    console = Terminal(markup=markup)
    return console if console.is_terminal else Terminal(markup=markup, width=_UNBOUNDED)
