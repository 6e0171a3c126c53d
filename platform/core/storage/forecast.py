"""A forecast of what grows: the way of forecasting that would have been best, with its error, or the last value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise, product

from tidegate.platform.core.wording import number_of

#: Days of history without which there is no forecast, and days of a month.
MIN_HISTORY, MONTH = 14, 30
#: How often the past is forecast to measure the error.
_TRIALS = 4
#: A method is better than the last value with an error below this part of that one's. Less may be chance.
_MAX_ERROR_RATIO = 0.8
_WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.9)
#: A trend becomes flatter by this factor each day.
_DAMPING = 0.98
#: A forecast may be so many times longer than those whose error is known, before a remark says so.
_MAX_TESTED_MULTIPLE = 3

_Method = Callable[[Sequence[float], int], list[float]]


@dataclass(frozen=True)
class Forecast:
    """What a series will be.

    Attributes:
        values: of the days after the last one of the history. Empty if there is too little history.
        method: `last value`, `drift` or `trend`.
        error: mean error of the method in forecasts of the past, as a part of the values that came. None if none came.
        naive_error: that of the last value.
        why_not: why there is no forecast, or none that is better than the last value. Empty if there is one.
        tested_days: days that each of the forecasts of the past was long. 0 if there is no forecast.
        came: sum of the values that these should have forecast.
    """

    values: tuple[float, ...]
    method: str
    error: float | None
    naive_error: float | None
    why_not: str
    tested_days: int = 0
    came: float = 0.0

    @property
    def caution(self) -> str:
        """What the error does not say, for people. Empty if it is of forecasts that are long enough."""
        if self.tested_days and self.error is None:
            return f"the error is unknown, because all values of the {self.tested_days} tested days are 0"
        if len(self.values) > _MAX_TESTED_MULTIPLE * self.tested_days:
            over, ahead = self.tested_days, len(self.values)
            return f"the error is of {over} days ahead, and {ahead} days ahead it may be much larger"
        return ""

    @property
    def remark(self) -> str:
        """All remarks on the forecast, for people. May be empty."""
        return "; ".join(filter(None, [self.why_not, self.caution]))


def daily_values(points: Mapping[date, float]) -> list[float]:
    """Return the value of each day from the first to the last. A day without a value has that of the day before."""
    days = sorted(points)
    found: list[float] = []
    for day, following in pairwise([*days, days[-1] + timedelta(days=1)] if days else []):
        found += [points[day]] * (following - day).days
    return found


def forecast(history: Sequence[float], days: int) -> Forecast:
    """Return a forecast.

    The ways are tried on the past: each forecasts as many of the last days as it may, several times. Where none had a
    smaller error than the last value, the last value is the forecast.

    Args:
        history: a value for each day.
        days: number of days to forecast.
    """
    if len(history) < MIN_HISTORY:
        return Forecast((), "", None, None, f"{_days(len(history))} too few: {MIN_HISTORY} are needed")
    ahead = max(1, min(days, len(history) // 3))
    missed = {name: _forecast_errors(method, history, ahead) for name, method in _METHODS.items()}
    naive, came = missed["last value"]
    best = min(missed, key=lambda name: missed[name])
    best = best if missed[best][0] < naive * _MAX_ERROR_RATIO else "last value"
    values = tuple(max(0.0, value) for value in _METHODS[best](history, days))
    why = "no forecast was better than the last value" if best == "last value" else ""
    error, naive_error = (missed[best][0] / came, naive / came) if came else (None, None)
    return Forecast(values, best, error, naive_error, why, ahead, came)


def forecast_sum(parts: Sequence[tuple[Sequence[float], Forecast]]) -> Forecast:
    """Return the forecast of a sum: a part that is new grows by no more than its own history shows.

    The sum itself would show each new part as growth. A part without a forecast counts with its last value. The error
    is what the parts missed. The sum missed as much or less.

    Args:
        parts: history and forecast of each.
    """
    known = [part for _, part in parts if part.values]
    if not known:
        longest = max(parts, key=lambda part: len(part[0]), default=None)
        return longest[1] if longest else forecast((), 0)
    days, came = len(known[0].values), sum(part.came for part in known)
    values = tuple(
        sum(part.values[day] if part.values else history[-1] for history, part in parts) for day in range(days)
    )
    methods = {part.method for part in known}
    method = methods.pop() if len(methods) == 1 else "sum of the buckets"
    error, naive_error = (
        sum((each or 0.0) * part.came for each, part in zip(errors, known, strict=True)) / came if came else None
        for errors in ([part.error for part in known], [part.naive_error for part in known])
    )
    why = known[0].why_not if method == "last value" else ""
    return Forecast(values, method, error, naive_error, why, min(part.tested_days for part in known), came)


def _forecast_errors(method: _Method, history: Sequence[float], ahead: int) -> tuple[float, float]:
    """Return the sum of what forecasts from points in the past missed, and the sum of the values that came.

    Args:
        method: makes the forecasts.
        history: a value for each day.
        ahead: days of each forecast.
    """
    missed = came = 0.0
    for trial in range(_TRIALS):
        end = len(history) - ahead - trial * max(1, ahead // _TRIALS)
        if end < MIN_HISTORY // 2:
            break
        actual = history[end : end + ahead]
        missed += sum(abs(value - guess) for value, guess in zip(actual, method(history[:end], ahead), strict=True))
        came += sum(actual)
    return missed, came


def _last_days(history: Sequence[float], days: int) -> list[float]:
    return [history[-1]] * days


def _drift(history: Sequence[float], days: int) -> list[float]:
    """Return the average change of a day continues."""
    step = (history[-1] - history[0]) / (len(history) - 1)
    return [history[-1] + step * day for day in range(1, days + 1)]


def _trend(history: Sequence[float], days: int) -> list[float]:
    """Forecast by exponential smoothing with a damped trend (Gardner and McKenzie), with the weights that fit the
    history best.
    """
    _, level, trend = min(_smooth(history, *weights) for weights in product(_WEIGHTS, _WEIGHTS))
    found, factor = [], 0.0
    for day in range(1, days + 1):
        factor += _DAMPING**day
        found.append(level + factor * trend)
    return found


def _smooth(history: Sequence[float], alpha: float, beta: float) -> tuple[float, float, float]:
    """Return the sum of squared errors one day ahead, and the last level and trend."""
    level, trend, squares = history[0], history[1] - history[0], 0.0
    for value in history[1:]:
        expected = level + _DAMPING * trend
        squares += (value - expected) ** 2
        before, level = level, expected + alpha * (value - expected)
        trend = beta * (level - before) + (1 - beta) * _DAMPING * trend
    return squares, level, trend


_METHODS: Mapping[str, _Method] = {"last value": _last_days, "drift": _drift, "trend": _trend}


def _days(count: int) -> str:
    return f"{number_of(count, 'day')} of history {'is' if count == 1 else 'are'}"
