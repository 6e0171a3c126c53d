"""Plots on Dagster's pages, as Markdown that the page shows at once.

Dagster's UI shows Markdown of under 1,000 characters in its place, and longer Markdown only behind a link.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import pairwise

from tidegate.platform.core.markdown import Markdown, cell

#: Dagster hides Markdown of this length behind a link.
MAX_MARKDOWN = 1000
_BAR, _EIGHTHS = 20, " ▏▎▍▌▋▊▉"
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 700, 170, 60, 14, 150
_DATE = 75
#: Points of a curve, because each of them takes some characters.
_MAX_POINTS = 32
_LINE = 'fill="none" stroke="#4f43dd" stroke-width="2"'


def bars(title: str, values: Sequence[tuple[str, float, str]]) -> Markdown:
    """Return a plot with horizontal bars, as Markdown: a table of text.

    Args:
        title: of the plot.
        values: label, value and the value as text of each bar, the largest first. No value is negative. The last bars
            are left out if the plot would be too long.
    """
    highest = max((value for _, value, _ in values), default=0.0) or 1.0
    lines = [f"| {cell(title)} | | |", "|:-|-:|:-|"]
    for label, value, text in values:
        lines.append(f"| {cell(_shorten_label(label))} | {text} | {_bar(value / highest)} |")
        if len("\n".join(lines)) >= MAX_MARKDOWN:
            return Markdown("\n".join(lines[:-1]))
    return Markdown("\n".join(lines))


def curve(title: str, first: date, past: Sequence[float], future: Sequence[float]) -> Markdown:
    """Return a plot of values by day, as Markdown: a line, and a dashed line for the forecast.

    Args:
        title: of the plot.
        first: day of the first value.
        past: at least one value. No value is negative.
        future: values after the last one of the past.
    """
    values, last = [*past, *future], len(past) - 1
    highest = max(values) or 1.0
    step = (_WIDTH - _LEFT - 10) / max(1, len(values) - 1)

    def path(days: Sequence[int]) -> str:
        places = [
            (round(_LEFT + step * day), round(_BOTTOM - (_BOTTOM - _TOP) * values[day] / highest)) for day in days
        ]
        moves = "".join(f"l{x - before} {y - above}" for (before, above), (x, y) in pairwise(places))
        return f'd="M{places[0][0]} {places[0][1]}{moves}"'

    drawing = [
        f'<text x="2" y="{_TOP + 4}">{highest:,.4g}</text><path {_LINE} {path(_sample_days(0, last, len(values)))}/>'
    ]
    if future:
        drawing.append(f'<path {_LINE} stroke-dasharray="4" {path(_sample_days(last, len(values) - 1, len(values)))}/>')
    # The first day, the last one of the forecast, and the last one that is known if there is room for it.
    room = _LEFT + _DATE < _LEFT + step * last < _WIDTH - 2 * _DATE
    for day in sorted({0, len(values) - 1, *([last] if room else [])}):
        x = min(round(_LEFT + step * day), _WIDTH - _DATE)
        drawing.append(f'<text x="{x}" y="{_HEIGHT - 5}">{(first + timedelta(days=day)).isoformat()}</text>')
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" font-size="12" '
        f'font-family="sans-serif" style="background:#fff">{"".join(drawing)}</svg>'
    )
    image = f"![](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"
    return Markdown(f"{cell(title)}\n\n{image}")


def _sample_days(first: int, last: int, days: int) -> list[int]:
    """Return days from the first to the last: both, and of the others as many as a curve of all days may have."""
    step = max(1, -(-days // _MAX_POINTS))
    return [*range(first, last, step), last]


def _bar(part: float) -> str:
    eighths = round(8 * _BAR * part)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).strip()


def _shorten_label(label: str) -> str:
    return label if len(label) <= 34 else f"{label[:16]}…{label[-17:]}"
