"""The buckets that `inventories` of `lake.yaml` chooses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from tests.unit.conftest import PAPER
from tidegate.platform.core.config.inventories import InventoriesSpec, inventory_problem
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import LakeConfigError, load_lake
from tidegate.platform.core.routing.route import NoRoute, Routed, route

PREFIX = "s3://second/inventory/"
DELIVERY = "inventory/acme/all/2026-01-31T01-00Z/"


def test_names_are_chosen_whether_or_not_they_exist_and_patterns_among_those_that_do() -> None:
    spec = InventoriesSpec(buckets=("acme-*-logs", "single"))
    assert spec.has_patterns
    assert spec.select_buckets(["acme-a-logs", "acme-a", "other", "acme--logs"]) == [
        "acme--logs",
        "acme-a-logs",
        "single",
    ]
    assert not InventoriesSpec(buckets=("single",)).has_patterns


def test_a_bucket_with_an_exclamation_mark_is_left_out_in_whatever_order_they_are_given() -> None:
    spec = InventoriesSpec(buckets=("!acme-logs", "acme-*", "!*-tmp", "named", "gone", "!gone", "acme-kept"))
    existing = ["acme-a", "acme-logs", "acme-logs-2", "acme-b-tmp", "named-tmp"]
    assert spec.select_buckets(existing) == ["acme-a", "acme-kept", "acme-logs-2", "named"]
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


def load(tmp_path: Path, *more: dict[str, Any], **table: Any) -> LakeConfig:
    objects = {"name": "objects", "prefix": PREFIX, "mode": "inventory", **table}
    path = tmp_path / "lake.yaml"
    path.write_text(yaml.safe_dump({**PAPER, "tables": [objects, *more]}))
    return load_lake(path)


def test_a_delivery_is_one_source_and_its_other_objects_are_own_files(tmp_path: Path) -> None:
    config = load(tmp_path)
    decided = route("second", f"{DELIVERY}manifest.checksum", config, set())
    assert isinstance(decided, Routed)
    assert (decided.spec.name, decided.spec.registers, decided.spec.output_mode) == ("objects", False, None)
    for key in (
        f"{DELIVERY}manifest.json",
        "inventory/acme/all/data/x.parquet",
        "inventory/acme/all/hive/dt=x/symlink.txt",
    ):
        other = route("second", key, config, set())
        assert isinstance(other, NoRoute)
        assert other.outcome == "own_file"
        assert "They enter with <source bucket>/<configuration>/<time>/manifest.checksum" in other.why


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"format": "csv"}, "`format` is in the manifest of each inventory"),
        ({"schema": "strict"}, "`schema` says what new columns do"),
        ({"completion": "manifest.checksum", "format": "csv"}, "`format` is in the manifest"),
        ({"silver": {"keys": ["key"], "order": "size", "every": 60}}, "`silver` merges rows by key"),
        ({"columns": {"size": "bigint"}}, "`columns` gives columns their types"),
        ({"inventory": "s3://elsewhere/x/"}, "`inventory` is compared with the files of the table"),
    ],
)
def test_settings_of_other_tables_are_refused_with_the_reason(tmp_path: Path, given: dict[str, Any], says: str) -> None:
    with pytest.raises(LakeConfigError) as error:
        load(tmp_path, **given)
    assert says in str(error.value)
    assert "remove it from the table with `mode: inventory`" in str(error.value)


@pytest.mark.parametrize("prefix", ["s3://second/inventory//", "s3://second//inventory/"])
def test_a_prefix_into_which_s3_writes_no_inventory_is_refused(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(LakeConfigError, match="`prefix` has an empty folder"):
        load(tmp_path, prefix=prefix)


def test_other_tables_may_have_them() -> None:
    assert inventory_problem("load", {"silver": {}, "format": "csv"}) is None
    assert inventory_problem("inventory", {"after_load": "keep", "format": None, "window": 5}) is None


def test_a_table_may_be_reconciled_with_an_inventory_that_the_table_of_inventories_takes(tmp_path: Path) -> None:
    orders = {"name": "orders", "prefix": "s3://second/orders/", "format": "json", "inventory": f"{PREFIX}second/all/"}
    config = load(tmp_path, orders)
    decided = route("second", "inventory/second/all/2026-01-31T01-00Z/manifest.checksum", config, set())
    assert isinstance(decided, Routed)
    with pytest.raises(LakeConfigError, match="which would take the inventory's files"):
        load(tmp_path, orders, mode="load", format="json")


def test_maintenance_may_look_for_files_in_a_table_of_inventories_only() -> None:
    lake = {**PAPER, "tables": [{"name": "objects", "prefix": PREFIX, "mode": "inventory"}]}
    assert LakeConfig(**lake, maintain={"inventory": "objects"}).maintenance.inventory == "objects"
    with pytest.raises(ValueError, match="there is no table other with `mode: inventory`; correct the name"):
        LakeConfig(**lake, maintain={"inventory": "other"})
