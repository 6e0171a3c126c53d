"""What a lake decides at the birth of a table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.resources.lake import Lake
from tidegate.resources.lake_root.store import LakeStore


def lake(store: LakeStore, **more: Any) -> Lake:
    base = {"lake": {"root": "s3://lake/root"}, "queues": [{"name": "events"}], "buckets": ["landing"]}
    tables = [{"name": "named", "prefix": "s3://landing/named/"}]
    config = LakeConfig.model_validate({**base, "tables": tables, **more})
    return Lake(config, store, SimpleNamespace(session=None), [])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("discovery", "folder", "file", "mode"),
    [
        (True, "new", "x.parquet", "load"),
        ({"parquet": "register"}, "new", "x.parquet", "register"),
        ({"parquet": "register"}, "new", "x.csv", "load"),
        (True, "named", "x.parquet", "register"),
        (True, "named", "x.csv", "load"),
        (False, "named", "x.parquet", "register"),
    ],
)
def test_discovered_parquet_is_loaded_unless_lake_yaml_says_register(
    discovery: Any, folder: str, file: str, mode: str
) -> None:
    new = lake(LakeStore(Objects(), "s3://lake/root"), discovery=discovery)  # type: ignore[arg-type]
    birth = new.ensure_birth(new.table(f"landing.{folder}"), f"{folder}/{file}")
    assert birth.mode == mode
    assert birth.location == ("s3a://landing/new" if mode == "register" and folder == "new" else birth.location)


@pytest.mark.parametrize("before", [True, {"parquet": "register"}])
@pytest.mark.parametrize("after", [True, False, {"parquet": "register"}])
def test_a_table_keeps_the_mode_of_its_birth(before: Any, after: Any) -> None:
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    first = lake(store, discovery=before)
    born = first.ensure_birth(first.table("landing.old"), "old/x.parquet")
    now = lake(store, discovery=after)
    assert now.ensure_birth(now.table("landing.old"), "old/y.parquet") == born
    assert now.drift(now.table("landing.old")) == []
