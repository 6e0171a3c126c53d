"""Maintenance on real tables: what it merges and deletes, what it leaves alone, and that its death does no harm."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pytest

from tests.support.lakes.inventory import Line, deliver
from tests.support.lakes.seams import dying_in
from tidegate.assets.keys import LakeNames
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.inventory.folder import FolderInventory, folder_inventories, folder_objects
from tidegate.platform.maintenance import deletion, file_source, tables, vacuum
from tidegate.platform.maintenance.tables import maintain_bronze, maintain_silver
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
    """Return the etags of objects by key. Logs are left out: a checkpoint may be on its way."""
    found = lake.lake.store.objects.list_under(bucket, prefix)
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
        instance.add_dynamic_partitions(LakeNames().name("tables"), [key])
        result = dg.materialize(
            [definitions.assets_def_for_key(LakeNames().maintained_bronze)],
            partition_key=key,
            instance=instance,
            run_config={"ops": {LakeNames().maintained_bronze.to_python_identifier(): {"config": {"dry_run": False}}}},
        )
    assert objects(lake, lake.bucket) == before
    assert kit.state(lake, "files").version == version, "nothing is committed to it"
    (event,) = result.get_asset_materialization_events()
    metadata = {name: value.value for name, value in event.materialization.metadata.items()}
    assert metadata["dry_run"] is False
    assert metadata["checkpoints"] >= 1
    assert metadata["merged_files"] == 0
    log = f"{S3Address.parse_s3a(location).key}/_delta_log/"
    names = [item.key for item in lake.lake.store.objects.list_under(lake.bucket, log)]
    assert any(name.endswith(".checkpoint.parquet") for name in names)
    with pytest.raises(DataError, match="is not below the lake root"):
        vacuum.vacuum(lake.lake, location, timedelta())


def test_an_inventory_finds_what_a_listing_finds_and_what_is_newer_stays(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    inventories = {"name": "objects", "prefix": "inventory/", "mode": "inventory"}
    lake = tidegate_lake([{**ORDERS, "prefix": "o/"}, inventories], maintain={"inventory": "objects"})
    made, session = lake.lake.store.uri("silver", "orders"), lake.lake.delta.session
    _write_again_and_again(session, made)
    before = sorted(map(tuple, session.sql(f"SELECT id, k FROM delta.`{made}`").collect()))
    folder = f"{S3Address.parse_s3a(made).key}/"

    def put(*names: str) -> None:
        for name in names:
            lake.clients.s3.put_object(Bucket=lake.lake_bucket, Key=f"{folder}{name}", Body=b"x" * 1000)

    put("orphan", "k=a%3Ab/orphan", "k=c d/ü.parquet", "x/y/single", "k=1/_SUCCESS", "_hidden/a", "x/_tmp/a", "k=1/.a")
    put("noncurrent", "young", "x//y")
    listed = list(lake.lake.store.objects.list_under(lake.lake_bucket, folder))
    hour = timedelta(hours=1)
    lines = [
        Line(
            item.key,
            item.size,
            item.etag,
            latest=not item.key.endswith("/noncurrent"),
            more={"LastModifiedDate": datetime.fromtimestamp(item.modified, UTC) + hour * item.key.endswith("/young")},
        )
        for item in listed
    ]

    created = int(time.time()) - 3600
    for configuration, age, without in (("all", 0, []), ("older", 60, ["LastModifiedDate"])):
        prefix = f"inventory/{lake.lake_bucket}/{configuration}/"
        how: dict[str, Any] = {"source": lake.lake_bucket, "created": created - age, "without": without}
        for key, body in deliver(lines, prefix=prefix, **how).objects.items():
            lake.put(key, body)
    lake.intake()
    kit.run(lake, "objects", listing=False)
    put("late")
    monkeypatch.setattr(tables, "keep_for", lambda *_: timedelta())
    monkeypatch.setattr(file_source, "MIN_FILES", 1)
    there = objects(lake, lake.lake_bucket, folder)
    unneeded = lake.lake.delta.upkeep.find_unneeded
    inventories = kit.location(lake, "objects")
    version = lake.lake.delta.table_state(inventories).version
    found = folder_objects(session, inventories, version, lake.lake_bucket, folder)
    in_log = sum("/_delta_log/" in line.key for line in lines)
    files = len(lines) - in_log - 1
    assert sorted(folder_inventories(found), key=lambda folder_inventory: folder_inventory.configuration) == [
        FolderInventory("all", created, in_log, files, described=files),
        FolderInventory("older", created - 60, in_log, files, described=0),
    ]
    source = file_source.file_source(lake.lake, made, 1, time.time())
    by_listing, by_inventory = (
        {S3Address.parse_s3a(path).key.removeprefix(folder) for path in unneeded(made, timedelta(), 1000, using)}
        for using in (None, source.inventory)
    )
    assert any(name.startswith("_change_data/") for name in by_inventory)
    assert any(name.startswith("deletion_vector_") for name in by_inventory)
    assert any(name.startswith("k=1/part-") for name in by_inventory), "a file of which every row was deleted"
    assert {"orphan", "k=a%3Ab/orphan", "k=c d/ü.parquet", "x/y/single"} <= by_inventory
    # A listing shows folders, too, and VACUUM takes some of them for empty.
    assert by_inventory == {name for name in by_listing if folder + name in there} - {"late", "young", "noncurrent"}

    plan = vacuum.vacuum(lake.lake, made, timedelta(), dry_run=True, inventory=source.inventory)
    assert objects(lake, lake.lake_bucket, folder) == there
    (done,) = maintain_silver(lake.lake, "orders", dry_run=False)
    assert plan.files == done.data.files == len(by_inventory)
    assert "from the inventory of " in done.line(dry_run=False)
    gone = there.keys() - objects(lake, lake.lake_bucket, folder).keys()
    assert gone == {folder + name for name in by_inventory}
    assert sorted(map(tuple, session.sql(f"SELECT id, k FROM delta.`{made}`").collect())) == before


def _write_again_and_again(session: Any, location: str) -> None:
    """Make a table with files that no version needs: of rows, of changes and of deletion vectors."""
    properties = {
        "delta.deletedFileRetentionDuration": "interval 0 hours",
        "delta.enableDeletionVectors": "true",
        "delta.enableChangeDataFeed": "true",
    }
    given = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    table = f"delta.`{location}`"
    session.sql(f"CREATE TABLE {table} (id INT, k STRING) USING delta PARTITIONED BY (k) TBLPROPERTIES ({given})")
    session.sql(f"INSERT INTO {table} VALUES (1, 'a:b'), (2, 'a:b'), (3, 'c d'), (4, 'ü'), (5, '1')")
    session.sql(f"UPDATE {table} SET id = id + 10 WHERE id IN (1, 3)")
    session.sql(f"DELETE FROM {table} WHERE id IN (2, 5)")
