"""The figures that the simulation is fed with: measured costs and published prices, each with its source and date."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from tidegate.platform.core.costs.figures import FIGURES, Figure, Figures

_FILE = Path(__file__).with_name("figures.toml")


@cache
def figures(path: Path = _FILE) -> Figures:
    """Return the project's units of cost, and the figures of the dated file."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    own = {name: FIGURES.find(name) for name in FIGURES}
    return Figures({**own, **{name: Figure(**fields) for name, fields in found.items()}})
