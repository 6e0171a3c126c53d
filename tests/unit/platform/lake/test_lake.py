"""What a lake decides at the birth of a table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.store import LakeStore


def lake(store: LakeStore, **more: Any) -> Lake:
    base = {"lake": {"root": "s3://lake/root"}, "queues": [{"name": "events"}], "buckets": ["landing"]}
    tables = [{"name": "named", "prefix": "s3://landing/named/"}]
    config = LakeConfig.model_validate({**base, "tables": tables} | more)
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


@pytest.mark.parametrize("first", ["team", "team/payments"])
@pytest.mark.parametrize("state", ["born", "in the inbox", "configured"])
def test_of_two_tables_one_inside_the_other_discovery_registers_none_that_comes_later(first: str, state: str) -> None:
    """Commands of Delta take all that is below a registered table for the table's own."""
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    second = "team" if first != "team" else "team/payments"
    more: dict[str, Any] = {"discovery": {"parquet": "register"}}
    if state == "configured":
        more["tables"] = [{"name": "first", "prefix": f"s3://landing/{first}/"}]
    now = lake(store, **more)
    before, after = (TableKey("landing", f"{folder}/").encode() for folder in (first, second))
    if state == "in the inbox":
        store.inbox.put([Manifest.create(before, "intake", [Hint("x")])])
    else:
        assert now.ensure_birth(now.table(before), f"{first}/x.parquet").mode == "register"
    assert now.ensure_birth(now.table(after), f"{second}/x.parquet").mode == "load"
    alone = TableKey("landing", "teams/").encode()
    assert now.ensure_birth(now.table(alone), "teams/x.parquet").mode == "register"
