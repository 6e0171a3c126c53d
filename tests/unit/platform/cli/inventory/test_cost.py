"""What the reports on storage refuse before they ask Spark."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory.advice import AdviceQuestion
from tidegate.platform.cli.inventory.cost import CostQuestion, known_prices, price_lists
from tidegate.platform.core.config.table import TableSpec


def test_a_dimension_or_a_class_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(
        CommandError, match="'owner' is not a dimension of a report: give some of bucket, configuration"
    ):
        _ = CostQuestion("objects", (), "bucket,owner").dimensions
    with pytest.raises(CommandError, match="',' is not a dimension of a report"):
        _ = CostQuestion("objects", (), ",").dimensions
    with pytest.raises(CommandError, match="unsupported storage class 'STANDARD': give some of STANDARD_IA"):
        _ = AdviceQuestion("objects", (), to="GLACIER,STANDARD").targets
    assert list(AdviceQuestion("objects", (), to="GLACIER, GLACIER_IR").targets) == ["GLACIER", "GLACIER_IR"]


def test_a_price_list_that_is_none_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(
        CommandError, match=r"the price list .*absent\.csv cannot be read: No such file or directory\. docs"
    ):
        known_prices([tmp_path / "absent.csv"])
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(CommandError, match=r"other\.csv is not a price list of AWS: it has no column SKU\. Download"):
        known_prices([other])
    head = "SKU,TermType,EffectiveDate,StartingRange,Unit,PricePerUnit,Currency,usageType,serviceCode\n"
    row = "A,OnDemand,2026-11-01,0,GB-Mo,0.3,USD,TimedStorage-ByteHrs,{}\n"
    listed = head + row.format("AmazonS3")
    for body in (gzip.compress(listed.encode()), listed.encode("utf-16")):
        other.write_bytes(body)
        with pytest.raises(CommandError, match=r"other\.csv is not a CSV file in UTF-8 \(.*unpack it with gunzip"):
            known_prices([other])
    # Elastic File System has a usage type of the same name.
    other.write_text(head + row.format("AmazonEFS"))
    with pytest.raises(
        CommandError, match=r"other\.csv has no prices of the class STANDARD: is it the list of AmazonS3"
    ):
        known_prices([other])
    other.write_text(listed, encoding="utf-8-sig")
    assert known_prices([other]).tiers == {"STANDARD": ((0.0, 0.3),)}


def test_without_the_option_the_price_lists_are_those_of_the_table_next_to_lake_yaml(tmp_path: Path) -> None:
    objects = {"name": "objects", "prefix": "s3://landing/inventory/", "mode": "inventory"}
    for reports, wanted in (({"storage_reports": {"prices": ["s3.csv"]}}, tmp_path / "s3.csv"), ({}, None)):
        spec = TableSpec.model_validate({**objects, **reports})
        lake: Any = SimpleNamespace(
            config=SimpleNamespace(tables=[spec]), table=lambda key, spec=spec: SimpleNamespace(spec=spec)
        )
        using: Any = SimpleNamespace(settings=SimpleNamespace(lake_yaml=tmp_path / "lake.yaml"))
        assert price_lists([tmp_path / "own.csv"], using, lake, "objects") == (tmp_path / "own.csv",)
        if wanted:
            assert price_lists(None, using, lake, "objects") == (wanted,)
        else:
            with pytest.raises(CommandError, match=r"no price list is known: give .* with --prices, or name it in"):
                price_lists(None, using, lake, "objects")
