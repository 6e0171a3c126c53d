"""What the commands print on."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tidegate.platform.core.first_line import visible


class Terminal(Console):
    """A console on which texts of producers act on nothing: control characters are written out, line ends are not.

    Its own styles and movements are not text, and stay.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of what is printed."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
