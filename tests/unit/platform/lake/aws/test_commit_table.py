"""Facts about the table of entries on which Python and Java must agree. The JVM tests read the same file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidegate.platform.cloud.commit_table import CommitTable
from tidegate.platform.core.keys.s3_address import spellings
from tidegate.platform.lake.aws.commit_table import CommitEntry, choose_spelling, is_ours

FACTS: dict[str, Any] = json.loads((Path(__file__).parents[3] / "data" / "commit_table.json").read_text())


@pytest.mark.parametrize("location", FACTS["spellings"])
def test_a_path_is_spelled_as_java_spells_it(location: str) -> None:
    assert spellings(location) == FACTS["spellings"][location]


@pytest.mark.parametrize("choice", FACTS["choices"], ids=str)
def test_a_spelling_is_chosen_as_java_chooses_it(choice: dict[str, Any]) -> None:
    newest = {
        spelling: CommitEntry(f"{version:020d}.json", FACTS["temp_paths"][whose], complete=True)
        for spelling, (version, whose) in choice["newest"].items()
    }
    if choice["chosen"] is None:
        with pytest.raises(ValueError, match="do not see each other"):
            choose_spelling(newest)
    else:
        assert choose_spelling(newest) == choice["chosen"]


@pytest.mark.parametrize("whose", FACTS["temp_paths"])
def test_ours_are_known_by_their_temp_paths(whose: str) -> None:
    assert is_ours(FACTS["temp_paths"][whose]) == (whose == "ours")


def test_the_table_is_made_as_java_makes_it() -> None:
    made = CommitTable("entries").definition()
    assert {key["AttributeName"]: key["KeyType"] for key in made["KeySchema"]} == FACTS["table"]["keys"]
    assert {item["AttributeName"]: item["AttributeType"] for item in made["AttributeDefinitions"]} == dict.fromkeys(
        FACTS["table"]["keys"], "S"
    )
    assert made["BillingMode"] == FACTS["table"]["billing"]
