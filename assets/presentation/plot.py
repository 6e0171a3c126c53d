"""Plots on Dagster's pages: images in SVG within Markdown."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import date, timedelta
from html import escape

_WIDTH, _ROW, _LABEL, _VALUE = 720, 22, 240, 110
_COLOUR = "#4f43dd"


def bars(title: str, values: Sequence[tuple[str, float, str]]) -> str:
    """Returns a plot with horizontal bars, as Markdown.

    Args:
        title: of the plot.
        values: label, value and the value as text of each bar, in order. No value is negative.
    """
    most = max((value for _, value, _ in values), default=0.0) or 1.0
    room = _WIDTH - _LABEL - _VALUE
    rows = []
    for number, (label, value, text) in enumerate(values):
        top = _ROW * (number + 1)
        width = room * value / most
        rows.append(
            f'<text x="{_LABEL - 8}" y="{top + 15}" text-anchor="end">{escape(_short(label))}</text>'
            f'<rect x="{_LABEL}" y="{top + 3}" width="{width:.1f}" height="{_ROW - 6}" fill="{_COLOUR}"/>'
            f'<text x="{_LABEL + width + 6:.1f}" y="{top + 15}">{escape(text)}</text>'
        )
    return image(title, _WIDTH, _ROW * (len(values) + 1) + 8, "".join(rows))


def curve(title: str, first: date, past: Sequence[float], future: Sequence[float]) -> str:
    """Returns a plot of values by day, as Markdown: a line, and a dashed line for the forecast.

    Args:
        title: of the plot.
        first: day of the first value.
        past: at least one value. No value is negative.
        future: values after the last one of the past.
    """
    height, left, top = 240, 60, 30
    most = max((*past, *future)) or 1.0
    step = (_WIDTH - left - 10) / max(1, len(past) + len(future) - 1)

    def points(values: Sequence[float], first: int) -> str:
        places = (
            (left + step * (first + number), top + (height - top - 10) * (1 - value / most))
            for number, value in enumerate(values)
        )
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)

    line = f'<polyline fill="none" stroke="{_COLOUR}" stroke-width="2"'
    drawing = f'<text x="{left - 6}" y="{top + 4}" text-anchor="end">{most:,.4g}</text>'
    drawing += f'<text x="{left - 6}" y="{height - 8}" text-anchor="end">0</text>{line} points="{points(past, 0)}"/>'
    if future:
        ahead = points([past[-1], *future], len(past) - 1)
        drawing += f'{line} stroke-dasharray="4 4" points="{ahead}"/>'
    # The first day, the last one that is known, and the last one of the forecast.
    for place in {0, len(past) - 1, len(past) + len(future) - 1}:
        x = left + step * place
        anchor = "start" if place == 0 else "end" if x > _WIDTH - _VALUE else "middle"
        day = first + timedelta(days=place)
        drawing += f'<text x="{x:.1f}" y="{height + 8}" text-anchor="{anchor}">{day.isoformat()}</text>'
    return image(title, _WIDTH, height + 16, drawing)


def image(title: str, width: int, height: int, drawing: str) -> str:
    """Returns an image as Markdown.

    Args:
        title: text above the drawing.
        width: of the image in pixels.
        height: of the image in pixels.
        drawing: elements of SVG.
    """
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="12" fill="#333"><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="8" y="16" font-weight="bold">{escape(title)}</text>{drawing}</svg>'
    )
    return f"![{title}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


def _short(label: str) -> str:
    return label if len(label) <= 34 else f"{label[:16]}…{label[-17:]}"
