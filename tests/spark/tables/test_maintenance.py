"""Maintenance on real tables: what it merges and deletes, what it leaves alone, and that its death does no harm."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from tests.support.lakes.seams import dying_in
from tidegate.assets.bronze.asset import TABLES
from tidegate.assets.maintenance import deletion, tables, vacuum
from tidegate.assets.maintenance.asset import MAINTAINED_BRONZE
from tidegate.assets.maintenance.tables import maintain_bronze, maintain_silver
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
ORDERS = {
    "name": "orders",
    "prefix": "orders/",
    "format": "csv",
    "columns": {"id": "int", "at": "int", "n": "int"},
    "silver": {"keys": ["id"], "order": "at", "every": 10},
}
FILES = {"name": "files", "prefix": "files/"}
HEAD = "id,at,n\n"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few files and few commits be enough."""
    monkeypatch.setattr(tables, "MIN_SMALL", 2)
    monkeypatch.setattr(tables, "MIN_COMMITS", 2)


def objects(lake: TestLake, bucket: str, prefix: str = "") -> dict[str, str]:
    """Returns the etags of objects by key. Logs are left out: a checkpoint may be on its way."""
    found = lake.lake.store.objects.under(bucket, prefix)
    return {item.key: item.etag for item in found if "/_delta_log/" not in item.key}


def test_maintenance_frees_what_no_version_needs_and_dies_without_harm(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([ORDERS])
    silver = lake.lake.store.uri("silver", "orders")
    for part in range(2):
        # A folder whose value is escaped in its key, and again in the log.
        lake.put(f"orders/k=a%3Ab/{part}.csv", f"{HEAD}1,{part},{part}\n{part + 2},1,1\n")
        kit.run(lake, "orders")
        kit.merge(lake, "orders")
    bronze, key, session = kit.location(lake, "orders"), lake.key("orders"), lake.lake.delta.session
    before = kit.bronze(lake, "orders"), kit.silver(lake, "orders", "id, at, n, k")
    orphan = f"{S3Address.parse_s3a(bronze).key}/k=a%3Ab/part-of-a-run-that-died.parquet"
    lake.clients.s3.put_object(Bucket=lake.lake_bucket, Key=orphan, Body=b"x" * 1000)

    started = objects(lake, lake.lake_bucket)
    planned = maintain_bronze(lake.lake, key, dry_run=True)
    assert (planned[0].merged, planned[0].checkpoint) == (2, True)
    assert not any(found.freed.files for found in planned), "nothing is a week old"
    assert objects(lake, lake.lake_bucket) == started

    now = "'delta.deletedFileRetentionDuration' = 'interval 0 hours'"
    for location in (bronze, silver, lake.lake.table(key).ledger.location):
        session.sql(f"ALTER TABLE delta.`{location}` SET TBLPROPERTIES ({now})")
    monkeypatch.setattr(tables, "keep_for", lambda *_: timedelta())
    monkeypatch.setattr(deletion, "_AT_ONCE", 1)
    with dying_in(tables, "maintain-compact"):
        maintain_bronze(lake.lake, key, dry_run=False)
    assert orphan not in objects(lake, lake.lake_bucket)
    there = objects(lake, lake.lake_bucket)
    planned = maintain_bronze(lake.lake, key, dry_run=True)
    assert (planned[0].data.files, planned[0].merged) == (2, 0), "the files that were merged are not needed any more"
    assert objects(lake, lake.lake_bucket) == there, "a dry run deletes nothing"
    for module, seam in ((deletion, "maintain-delete"), (tables, "maintain-checkpoint")):
        with dying_in(module, seam):
            maintain_bronze(lake.lake, key, dry_run=False)
        assert kit.bronze(lake, "orders") == before[0]
    (done, ledger) = maintain_bronze(lake.lake, key, dry_run=False)
    assert (done.merged, done.checkpoint, done.data.files) == (0, False, 0), "nothing is left to do"
    gone = there.keys() - objects(lake, lake.lake_bucket).keys()
    assert len(gone) == 2 + ledger.data.files

    (plan,) = maintain_silver(lake.lake, "orders", dry_run=True)
    (merged,) = maintain_silver(lake.lake, "orders", dry_run=False)
    assert merged.merged == plan.merged >= 1, "rows of it are hidden"
    (again,) = maintain_silver(lake.lake, "orders", dry_run=False)
    assert (again.merged, again.data.files >= 2) == (0, True), "the files with hidden rows, and what hides them"
    assert (kit.bronze(lake, "orders"), kit.silver(lake, "orders", "id, at, n, k")) == before
    assert kit.state(lake, "orders").files == 1
    assert kit.run(lake, "orders") == [], "what was loaded is remembered"


def test_the_files_of_a_registered_table_are_the_producer_s(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([FILES])
    for part in range(2):
        lake.put(f"files/{part}.parquet", kit.parquet([{"id": part}]))
        kit.run(lake, "files")
    location, key = kit.location(lake, "files"), lake.key("files")
    lake.delete("files/0.parquet")
    kit.run(lake, "files")
    lake.put("files/not-yet.parquet", kit.parquet([{"id": 99}]))
    lake.put("files/0.parquet", kit.parquet([{"id": 0}]))
    monkeypatch.setattr(tables, "keep_for", lambda *_: timedelta())
    now = "'delta.deletedFileRetentionDuration' = 'interval 0 hours'"
    ledger = lake.lake.table(key).ledger.location
    lake.lake.delta.session.sql(f"ALTER TABLE delta.`{ledger}` SET TBLPROPERTIES ({now})")
    before = objects(lake, lake.bucket)
    version = kit.state(lake, "files").version
    definitions = lake.definitions.resolve_asset_graph()
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(TABLES.name or "", [key])
        result = dg.materialize(
            [definitions.assets_def_for_key(MAINTAINED_BRONZE)],
            partition_key=key,
            instance=instance,
            run_config={"ops": {MAINTAINED_BRONZE.to_python_identifier(): {"config": {"dry_run": False}}}},
        )
    assert objects(lake, lake.bucket) == before
    assert kit.state(lake, "files").version == version, "nothing is committed to it"
    (event,) = result.get_asset_materialization_events()
    metadata = {name: value.value for name, value in event.materialization.metadata.items()}
    assert metadata["dry_run"] is False
    assert metadata["checkpoints"] >= 1
    assert metadata["merged_files"] == 0
    log = f"{S3Address.parse_s3a(location).key}/_delta_log/"
    names = [item.key for item in lake.lake.store.objects.under(lake.bucket, log)]
    assert any(name.endswith(".checkpoint.parquet") for name in names)
    with pytest.raises(vacuum.NotOurs, match="is not below the lake root"):
        vacuum.vacuum(lake.lake, location, timedelta())
