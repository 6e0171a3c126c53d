"""Text is unpacked, or refused, by the ending of its name. The server knows the same endings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidegate.platform.core.keys.file_format import ARCHIVES, GZIP, REFUSED, format_of, refusal

DATA = Path(__file__).parents[3] / "data"


def test_the_endings_are_those_that_the_server_knows() -> None:
    assert json.loads((DATA / "packing.json").read_text()) == {"unpacked": GZIP, "refused": list(REFUSED)}


@pytest.mark.parametrize("ending", [*REFUSED, *ARCHIVES])
def test_an_ending_of_another_unpacker_is_refused_by_name(ending: str) -> None:
    assert (refusal(f"t/a.json{ending}") or "").startswith(f"its name ends in {ending}, and of packed text only gzip")
    assert format_of(f"t/a.json{ending}") is None


@pytest.mark.parametrize(
    "key", ["t/a.json", "t/a.json.gz", "t/a.bz2/b", "t/a.bz2.json", "t/a.BZ2", "t/bz2", "t/a.zstd"]
)
def test_other_names_are_not_an_obstacle(key: str) -> None:
    assert refusal(key) is None
