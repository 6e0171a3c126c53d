"""Plots in Markdown: the longest bar is that of the largest value, and Dagster's page shows each plot at once."""

from __future__ import annotations

import base64
import re
from datetime import date
from xml.etree import ElementTree

from tidegate.assets.presentation.plot import MAX_MARKDOWN, bars, curve

_SVG = "{http://www.w3.org/2000/svg}"


def drawing(markdown: str) -> ElementTree.Element:
    found = re.fullmatch(r".+\n\n!\[\]\(data:image/svg\+xml;base64,(.+)\)", markdown)
    assert found
    return ElementTree.fromstring(base64.b64decode(found[1]))


def points(path: ElementTree.Element) -> list[tuple[int, int]]:
    first, *moves = re.findall(r"(-?\d+) (-?\d+)", path.attrib["d"])
    places = [(int(first[0]), int(first[1]))]
    for x, y in moves:
        places.append((places[-1][0] + int(x), places[-1][1] + int(y)))
    return places


def test_bars_are_as_long_as_their_values_and_labels_are_text() -> None:
    values = [("<big> & a|b", 4.0, "4 USD"), ("x" * 80, 1.03, "1.03 USD"), ("a\nb_c", 0.0, "0 USD")]
    title, rule, first, second, none = bars("a month", values).splitlines()
    assert (title, rule) == ("| a month | | |", "|:-|-:|:-|")
    assert first == rf"| \<big\> \& a\|b | 4 USD | {'█' * 20} |"
    assert second == f"| {'x' * 16}…{'x' * 17} | 1.03 USD | █████▏ |"
    assert none == r"| a b\_c | 0 USD |  |"


def test_a_plot_of_nothing_is_a_title() -> None:
    assert bars("nothing", []) == "| nothing | | |\n|:-|-:|:-|"


def test_a_plot_is_shown_without_a_link_however_long_its_labels_and_its_history_are() -> None:
    drawing = bars("dollars a month by bucket", [("_" * 34, 9.0, "123,456,789.12 USD")] * 40)
    assert 5 < len(drawing.splitlines()) - 2 < 40
    assert len(drawing) < MAX_MARKDOWN
    saw = [123456.789 * (day % 7) for day in range(3000)]
    for past, future in ((saw[:15], saw[:90]), (saw, saw[:90]), (saw[:39], []), (saw[:1], saw[:700])):
        drawing = curve("GiB of all buckets, and the forecast of 36 months", date(2026, 1, 30), past, future)
        assert len(drawing) < MAX_MARKDOWN


def test_a_curve_has_its_highest_value_at_the_top_and_the_forecast_begins_where_the_past_ends() -> None:
    svg = drawing(curve("bytes", date(2026, 1, 30), [0.0, 5.0, 10.0], [20.0]))
    past, future = [points(path) for path in svg.iter(f"{_SVG}path")]
    assert (len(past), len(future)) == (3, 2)
    assert future[0] == past[-1]
    assert future[-1][1] == 14
    assert [y for _, y in past] == [150, 116, 82]
    assert [text.text for text in svg.iter(f"{_SVG}text")] == ["20", "2026-01-30", "2026-02-01", "2026-02-02"]
    # A day that would cover another one is left out.
    crowded = drawing(curve("bytes", date(2026, 1, 30), [0.0, 5.0], [20.0] * 60))
    assert [text.text for text in crowded.iter(f"{_SVG}text")] == ["20", "2026-01-30", "2026-04-01"]
    assert len(list(drawing(curve("one", date(2026, 1, 1), [0.0], [])).iter(f"{_SVG}path"))) == 1
