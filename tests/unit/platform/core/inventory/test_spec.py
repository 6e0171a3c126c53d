"""The buckets that `inventories` of `lake.yaml` chooses."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tidegate.platform.core.inventory.spec import InventoriesSpec


def test_names_are_chosen_whether_or_not_they_exist_and_patterns_among_those_that_do() -> None:
    spec = InventoriesSpec(buckets=("acme-*-logs", "single"))
    assert spec.has_patterns
    assert spec.chosen(["acme-a-logs", "acme-a", "other", "acme--logs"]) == ["acme--logs", "acme-a-logs", "single"]
    assert not InventoriesSpec(buckets=("single",)).has_patterns


@pytest.mark.parametrize("wrong", [{"buckets": []}, {"buckets": ["Upper"]}, {"buckets": ["a"], "configuration": "a/b"}])
def test_what_s3_would_refuse_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        InventoriesSpec.model_validate(wrong)
