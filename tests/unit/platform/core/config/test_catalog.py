"""`catalog` of lake.yaml."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.unit.conftest import PAPER
from tidegate.platform.core.config.catalog import CatalogSpec
from tidegate.platform.core.config.lake import LakeConfig


def test_all_tables_are_registered_unless_some_are_named() -> None:
    every, some = CatalogSpec(bronze="raw"), CatalogSpec(silver="clean", tables=("orders",))
    assert (every.has("items"), some.has("items"), some.has("orders")) == (True, False, True)


@pytest.mark.parametrize(
    ("catalog", "problem"),
    [
        ({}, "give bronze, silver, or both"),
        ({"bronze": "lake", "silver": "lake"}, "their tables have the same names: give them two databases"),
        ({"bronze": "Lake"}, "catalog.bronze"),
        ({"bronze": "raw", "tables": ["other"]}, "there is no table other; correct the name, or leave `tables` out"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(catalog: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        LakeConfig.model_validate({**PAPER, "catalog": catalog})
