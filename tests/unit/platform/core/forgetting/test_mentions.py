"""Whether a text that is no proper row names a subject. Java reads the same texts (`SuppressionTest`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidegate.platform.core.forgetting.mentions import mentions

VECTORS = json.loads((Path(__file__).parents[5] / "platform/jvm/src/test/resources/mentions.json").read_text())


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["text"] or "empty" for vector in VECTORS])
def test_a_text_mentions_a_subject_by_a_word_a_cell_or_a_quoted_part(vector: dict[str, Any]) -> None:
    for subject in vector["mentions"]:
        assert mentions(vector["text"], subject.__eq__), subject
    for subject in vector["lacks"]:
        assert not mentions(vector["text"], subject.__eq__), subject


def test_each_part_of_a_long_text_is_asked_for_when_it_is_found() -> None:
    asked: list[str] = []
    assert mentions("eva " + "x " * 1_000_000, lambda part: asked.append(part) or part == "eva")  # type: ignore[func-returns-value]
    assert asked == ["eva"]


def test_a_text_of_quotation_marks_without_an_end_is_read_once() -> None:
    assert not mentions('"' + '\\"' * 100_000, "eva".__eq__)
