"""The figures that the simulation is fed with: measured costs and published prices, each with its source and date."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("figures.toml")


@dataclass(frozen=True)
class Figure:
    """A number with its origin.

    Attributes:
        value: the number.
        unit: what it counts.
        source: where it was measured or published, or that it is assumed.
        date: when it was measured, published or read.
    """

    value: float
    unit: str
    source: str
    date: datetime.date


class Figures(Mapping[str, float]):
    """Figures by name. The values are plain numbers; `of` returns a figure with its source."""

    def __init__(self, figures: Mapping[str, Figure]) -> None:
        self._figures = figures

    def __getitem__(self, name: str) -> float:
        return self._figures[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def of(self, name: str) -> Figure:
        """Returns a figure with its source."""
        return self._figures[name]


@cache
def figures(path: Path = _FILE) -> Figures:
    """Returns the figures of the dated file."""
    return Figures({name: Figure(**fields) for name, fields in tomllib.loads(path.read_text(encoding="utf-8")).items()})
