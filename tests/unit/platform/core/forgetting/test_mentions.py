"""Whether a text that is no proper row names a subject. Java reads the same texts (`SuppressionTest`)."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tidegate.platform.core.forgetting.mentions import mentions

VECTORS = json.loads((Path(__file__).parents[5] / "platform/jvm/src/test/resources/mentions.json").read_text())

#: For each text, all that is asked for. `MentionsTest` of platform/jvm reads them too.
PARTS = json.loads((Path(__file__).parents[5] / "platform/jvm/src/test/resources/mention_parts.json").read_text())
#: Each kind of part has each character of a text at most three times: once as it is, and twice without what is around.
MAX_ASKED = 20


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["text"] or "empty" for vector in VECTORS])
def test_a_text_mentions_a_subject_by_a_word_a_cell_or_a_quoted_part(vector: dict[str, Any]) -> None:
    for subject in vector["mentions"]:
        assert mentions(vector["text"], subject.__eq__), subject
    for subject in vector["lacks"]:
        assert not mentions(vector["text"], subject.__eq__), subject


def test_each_part_of_a_long_text_is_asked_for_when_it_is_found() -> None:
    asked: list[str] = []
    text = "eva " + "x " * 1_000_000
    tracemalloc.start()
    assert mentions(text, lambda part: asked.append(part) or part == "eva")  # type: ignore[func-returns-value]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert asked == ["eva"]
    assert peak < len(text), "the parts that nobody asked for are held"


@pytest.mark.parametrize("text", PARTS)
def test_the_parts_of_any_text_are_the_same_in_both_languages(text: str) -> None:
    asked: set[str] = set()
    assert not mentions(text, lambda part: asked.add(part) is not None)  # type: ignore[func-returns-value]
    assert sorted(asked) == PARTS[text]


@pytest.mark.parametrize("start", ["", '"'])
@pytest.mark.parametrize(
    "repeated", ['\\"', '"', "\\", '"\\', " ", ",", "a,", '"a', "A", "AA==", "0", "1e", "\\u0041", "\n", "'"]
)
def test_what_is_asked_for_grows_as_the_text_does(start: str, repeated: str) -> None:
    text = start + repeated * (20_000 // len(repeated))
    asked = 0

    def is_known(part: str) -> bool:
        nonlocal asked
        asked += len(part)
        return False

    assert not mentions(text, is_known)
    assert asked <= MAX_ASKED * len(text)
