"""The buckets that `inventories` of `lake.yaml` chooses."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tidegate.platform.core.config.inventories import InventoriesSpec


def test_names_are_chosen_whether_or_not_they_exist_and_patterns_among_those_that_do() -> None:
    spec = InventoriesSpec(buckets=("acme-*-logs", "single"))
    assert spec.has_patterns
    assert spec.chosen(["acme-a-logs", "acme-a", "other", "acme--logs"]) == ["acme--logs", "acme-a-logs", "single"]
    assert not InventoriesSpec(buckets=("single",)).has_patterns


def test_a_bucket_with_an_exclamation_mark_is_left_out_in_whatever_order_they_are_given() -> None:
    spec = InventoriesSpec(buckets=("!acme-logs", "acme-*", "!*-tmp", "named", "gone", "!gone", "acme-kept"))
    existing = ["acme-a", "acme-logs", "acme-logs-2", "acme-b-tmp", "named-tmp"]
    assert spec.chosen(existing) == ["acme-a", "acme-kept", "acme-logs-2", "named"]
    assert (spec.names, spec.excluded) == (("named", "acme-kept"), ("acme-logs", "*-tmp", "gone"))
    assert [name for name in existing if spec.chooses(name)] == ["acme-a", "acme-logs-2"]
    assert not InventoriesSpec(buckets=("a", "!b*")).has_patterns


@pytest.mark.parametrize(
    "wrong",
    [
        {"buckets": []},
        {"buckets": ["Upper"]},
        {"buckets": ["a"], "configuration": "a/b"},
        {"buckets": ["!a"]},
        {"buckets": ["a", "!!b"]},
    ],
)
def test_what_s3_would_refuse_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        InventoriesSpec.model_validate(wrong)
