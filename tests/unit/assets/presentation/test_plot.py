"""Plots in Markdown: well-formed SVG in which the longest bar is that of the largest value."""

from __future__ import annotations

import base64
import re
from datetime import date
from xml.etree import ElementTree

from tidegate.assets.presentation.plot import bars, curve


def drawing(markdown: str) -> ElementTree.Element:
    found = re.fullmatch(r"!\[[^]]*\]\(data:image/svg\+xml;base64,(.+)\)", markdown)
    assert found
    return ElementTree.fromstring(base64.b64decode(found[1]))


def test_bars_are_as_long_as_their_values_and_labels_are_text() -> None:
    svg = drawing(bars("a month", [("<big> & more", 4.0, "4 USD"), ("x" * 80, 1.0, "1 USD"), ("none", 0.0, "0 USD")]))
    space = "{http://www.w3.org/2000/svg}"
    first, second, none = [float(bar.attrib["width"]) for bar in svg.iter(f"{space}rect") if "x" in bar.attrib]
    assert (first, none) == (4 * second, 0)
    texts = [text.text for text in svg.iter(f"{space}text")]
    assert texts[:3] == ["a month", "<big> & more", "4 USD"]
    assert len(texts[3] or "") <= 34


def test_a_plot_of_nothing_is_a_title() -> None:
    assert len(list(drawing(bars("nothing", [])))) == 2


def test_a_curve_has_its_highest_value_at_the_top_and_the_forecast_begins_where_the_past_ends() -> None:
    svg = drawing(curve("bytes", date(2026, 1, 30), [0.0, 5.0, 10.0], [20.0]))
    past, future = [
        [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
        for line in svg.iter("{http://www.w3.org/2000/svg}polyline")
    ]
    assert (len(past), len(future)) == (3, 2)
    assert future[0] == past[-1]
    assert future[-1][1] == 30.0
    assert past[0][1] == 230.0
    days = {text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")} - {"bytes", "20", "0"}
    assert days == {"2026-01-30", "2026-02-01", "2026-02-02"}
    assert (
        len(list(drawing(curve("one", date(2026, 1, 1), [0.0], [])).iter("{http://www.w3.org/2000/svg}polyline"))) == 1
    )
