"""Charts as SVG: lines over a number, and stacked bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 760, 380, 76, 44, 20, 52
_COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#475569")


def lines(
    title: str, x_name: str, y_name: str, series: Mapping[str, Points], *, log_x: bool = False, log_y: bool = False
) -> str:
    """Return a chart of lines.

    Args:
        title: its title.
        x_name: what is from left to right.
        y_name: what is from bottom to top.
        series: the points of each line, by name.
        log_x: whether the x axis is logarithmic.
        log_y: whether the y axis is logarithmic.
    """
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    x_axis, y_axis = _Axis(min(xs), max(xs), log=log_x), _Axis(0, max(ys), log=log_y, least=min(ys))
    body = _frame(title, x_name, y_name, y_axis)
    for tick in x_axis.ticks():
        place = f'x="{_x(x_axis.place(tick)):.1f}" y="{_HEIGHT - _BOTTOM + 18}"'
        body.append(f'<text {place} text-anchor="middle">{_number(tick)}</text>')
    for n, points in enumerate(series.values()):
        path = " ".join(f"{_x(x_axis.place(x)):.1f},{_y(y_axis.place(y)):.1f}" for x, y in points)
        body.append(f'<polyline fill="none" stroke="{_COLOURS[n]}" stroke-width="2" points="{path}"/>')
    return _svg(title, body + _legend(list(series)))


def bars(title: str, y_name: str, parts: Sequence[str], stacks: Mapping[str, Mapping[str, float]]) -> str:
    """Return a chart of stacked bars.

    Args:
        title: its title.
        y_name: what is from bottom to top.
        parts: the parts of a bar, from bottom to top.
        stacks: the value of each part, by the name of the bar.
    """
    y_axis = _Axis(0, max(sum(stack.values()) for stack in stacks.values()))
    body, room = _frame(title, "", y_name, y_axis), (_WIDTH - _LEFT - _RIGHT) / len(stacks)
    for place, (name, stack) in enumerate(stacks.items()):
        left, below = _LEFT + room * (place + 0.2), 0.0
        for n, part in enumerate(parts):
            top, bottom = _y(y_axis.place(below + stack.get(part, 0.0))), _y(y_axis.place(below))
            below += stack.get(part, 0.0)
            box = f'x="{left:.1f}" y="{top:.1f}" width="{room * 0.6:.1f}" height="{bottom - top:.1f}"'
            body.append(f'<rect {box} fill="{_COLOURS[n]}"/>')
        middle = f'x="{left + room * 0.3:.1f}" text-anchor="middle"'
        body.append(f'<text {middle} y="{_HEIGHT - _BOTTOM + 18}">{escape(name)}</text>')
        body.append(f'<text {middle} y="{_y(y_axis.place(below)) - 6:.1f}">{_number(below)}</text>')
    return _svg(title, body + _legend(parts))


class _Axis:
    def __init__(self, first: float, last: float, *, log: bool = False, least: float = 0.0) -> None:
        self._log = log
        if log:
            self._low = math.floor(math.log10(max(least or first, 1e-9)))
            self._high = max(self._low + 1, math.ceil(math.log10(last)))
        else:
            step = 10 ** math.floor(math.log10(max(last - first, 1e-9)))
            self._step = next(step * part for part in (0.2, 0.5, 1, 2, 5) if (last - first) / (step * part) <= 6)
            self._low, self._high = first, math.ceil(last / self._step - 1e-9) * self._step

    def place(self, value: float) -> float:
        if self._log:
            value = math.log10(max(value, 10.0**self._low))
        return (value - self._low) / (self._high - self._low)

    def ticks(self) -> list[float]:
        if self._log:
            return [10.0**power for power in range(int(self._low), int(self._high) + 1)]
        first = math.ceil(self._low / self._step - 1e-9)
        return [n * self._step for n in range(first, round(self._high / self._step) + 1)]


def _x(place: float) -> float:
    return _LEFT + place * (_WIDTH - _LEFT - _RIGHT)


def _y(place: float) -> float:
    return _HEIGHT - _BOTTOM - place * (_HEIGHT - _TOP - _BOTTOM)


def _frame(title: str, x_name: str, y_name: str, y_axis: _Axis) -> list[str]:
    body = [f'<text x="{_LEFT}" y="20" font-size="15" font-weight="bold">{escape(title)}</text>']
    for tick in y_axis.ticks():
        height = f"{_y(y_axis.place(tick)):.1f}"
        body.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{height}" y2="{height}" stroke="#e2e8f0"/>')
        body.append(f'<text x="{_LEFT - 6}" y="{height}" dy="4" text-anchor="end">{_number(tick)}</text>')
    middle = (_HEIGHT - _BOTTOM + _TOP) / 2
    turned = f'x="14" y="{middle}" transform="rotate(-90 14 {middle})"'
    body.append(f'<text {turned} text-anchor="middle">{escape(y_name)}</text>')
    if x_name:
        body.append(f'<text x="{(_WIDTH + _LEFT) / 2}" y="{_HEIGHT - 12}" text-anchor="middle">{escape(x_name)}</text>')
    return body


def _legend(names: Sequence[str]) -> list[str]:
    legend, left = [], float(_LEFT)
    for n, name in enumerate(names):
        legend.append(f'<rect x="{left:.0f}" y="28" width="10" height="10" fill="{_COLOURS[n]}"/>')
        legend.append(f'<text x="{left + 14:.0f}" y="37">{escape(name)}</text>')
        left += 34 + 6.6 * len(name)
    return legend


def _svg(title: str, body: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
    head += f'aria-label="{escape(title)}" font-family="sans-serif" font-size="12" fill="#1e293b">'
    background = f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>'
    return "\n".join([head, background, *body, "</svg>"]) + "\n"


def _number(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 10_000 else f"{value:.4g}"
