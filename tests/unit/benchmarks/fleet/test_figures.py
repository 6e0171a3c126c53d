from __future__ import annotations

import datetime

from benchmarks.fleet.figures import figures


def test_each_figure_has_a_unit_a_source_and_a_date() -> None:
    found = figures()
    assert len(found) > 30
    for name in found:
        figure = found.find(name)
        assert figure.value > 0, name
        assert figure.unit, name
        assert isinstance(figure.date, datetime.date), name
        assert figure.source.startswith(("docs/", "decision ", "https://", "python -m ", "assumed")), name
