"""Reads Dagster's lineage graph from the picture: boxes with names, and arrows from box to box."""

from __future__ import annotations

import re
from dataclasses import dataclass

from playwright.sync_api import Page

_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?")
#: Maximum distance, in units, between the end of an arrow and its box.
_NEAR = 12.0


@dataclass(frozen=True)
class Box:
    """The box of an asset."""

    name: str
    x: float
    y: float
    width: float
    height: float

    def left_of(self, x: float, y: float) -> bool:
        """Return whether an arrow that begins at this point leaves the box on its right side."""
        return abs(self.x + self.width - x) <= _NEAR and self.y <= y <= self.y + self.height

    def right_of(self, x: float, y: float) -> bool:
        """Return whether an arrow that ends at this point meets the box on its left side."""
        return abs(self.x - x) <= _NEAR and self.y <= y <= self.y + self.height


def drawn_edges(page: Page, names: set[str]) -> set[tuple[str, str]]:
    """Return the edges between assets of these names, read from the picture's geometry."""
    boxes = []
    for shape in page.locator("foreignObject:not(.group)").all():
        text = (shape.text_content() or "").strip()
        name = next((name for name in sorted(names, key=len, reverse=True) if text.startswith(name)), None)
        if name:
            place = [float(shape.get_attribute(side) or 0) for side in ("x", "y", "width", "height")]
            boxes.append(Box(name, *place))
    edges = set()
    for arrow in page.locator("path[marker-end]").all():
        numbers = [float(number) for number in _NUMBERS.findall(arrow.get_attribute("d") or "")]
        starts = [box.name for box in boxes if box.left_of(*numbers[:2])]
        ends = [box.name for box in boxes if box.right_of(*numbers[-2:])]
        edges |= {(start, end) for start in starts for end in ends}
    return edges
