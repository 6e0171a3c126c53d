"""The table of inventories: each delivery replaces the rows of its bucket and configuration, in one commit, once."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tests.support.lakes.inventory import FORMATS, Delivery, Line, deliver
from tests.support.lakes.seams import dying_at, seams_watched
from tidegate.platform.bronze.prepare.inventories import stage as staging
from tidegate.platform.bronze.prepare.inventories.newest_deliveries import (
    find_late_inventories,
    newest_deliveries,
    newest_keys_below,
)
from tidegate.platform.cli.inventory.drop_bucket import run_drop
from tidegate.platform.core.inventory.columns import COLUMNS_WITH_STATISTICS
from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.column_statistics import STATISTICS
from tidegate.platform.testing import TestLake

DAY = 86_400
FIRST = datetime(2026, 11, 1, 1, 0, tzinfo=UTC).timestamp()


class Inventories:
    """A lake with a table of inventories, and what S3 delivers to it."""

    def __init__(self, lake: TestLake, kit: Any) -> None:
        self.lake, self.kit = lake, kit

    def make(
        self, lines: list[Line], day: float, source: str = "acme", configuration: str = "all", **how: Any
    ) -> Delivery:
        prefix = f"inventory/{source}/{configuration}/"
        return deliver(lines, prefix=prefix, source=source, created=FIRST + day * DAY, **how)

    def put(self, delivery: Delivery, *, without: tuple[str, ...] = ()) -> Delivery:
        for key, body in delivery.objects.items():
            if key not in without:
                self.lake.put(key, body)
        return delivery

    def deliver(self, lines: list[Line], day: float, *where: str, **how: Any) -> Delivery:
        return self.put(self.make(lines, day, *where, **how))

    def run(self, **options: Any) -> list[Any]:
        self.lake.intake()
        return self.kit.run(self.lake, "objects", **{"listing": False, **options})  # type: ignore[no-any-return]

    def rows(self, columns: str = "bucket, configuration, key, size") -> list[tuple[Any, ...]]:
        return self.kit.bronze(self.lake, "objects", columns)  # type: ignore[no-any-return]

    def fate(self, delivery: Delivery) -> tuple[str, str]:
        return self.kit.fate(self.lake, "objects")[delivery.checksum.removeprefix("inventory/")]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def inventories(module_lake: Callable[..., TestLake], kit: Any) -> Inventories:
    return Inventories(module_lake([{"name": "objects", "prefix": "inventory/", "mode": "inventory"}]), kit)


def line(key: str, size: int = 1, **more: Any) -> Line:
    return Line(key, size, "e", **more)


def test_each_format_is_read_and_each_subject_has_its_own_newest_rows(inventories: Inventories) -> None:
    odd = ["a b/c+d.json", 'quo"te,', "ü/\U0001f30a", "50%41"]
    expected = []
    for format in FORMATS:
        source = f"acme-{format.lower()}"
        # AWS leaves open whether what an object does not have is an empty text or missing.
        lines = [line(key, size, more={"ReplicationStatus": ""}) for size, key in enumerate(odd)]
        lines += [line(odd[0], 7, latest=False, null=True), Line("gone", None, None, marker=True)]
        inventories.deliver(
            lines, 0, source, "versions", format=format, fields=["ReplicationStatus", "LifecycleExpirationDate"]
        )
        # Of the same format and columns: both are read at once.
        inventories.deliver(
            lines[2:4],
            0,
            f"second-{source}",
            "other",
            format=format,
            fields=["ReplicationStatus", "LifecycleExpirationDate"],
        )
        inventories.deliver(lines[:1], 0, source, "weekly", format=format, versions=False, without=["ETag"])
        expected += [(source, "versions", key, size) for size, key in enumerate(odd)]
        expected += [(f"second-{source}", "other", key, size) for size, key in enumerate(odd) if size in (2, 3)]
        expected += [(source, "versions", odd[0], 7), (source, "versions", "gone", None), (source, "weekly", odd[0], 0)]
    (done,) = inventories.run()
    assert done.batch.counts() == {"committed": 9}
    assert inventories.rows() == sorted(expected, key=repr)
    kept = inventories.kit.state(inventories.lake, "objects").properties[STATISTICS]
    assert kept.split(",") == ["`_batch`", "`inventory_created`", "`key`", "`size`", "`last_modified_date`"]
    # What nobody delivers is in no file, and of what nobody looks for a file has no bounds.
    lake, location = inventories.lake, inventories.kit.location(inventories.lake, "objects")
    path = f"{S3Address.parse_s3a(location).key}/{done.batch.adds[0].path}"
    body = lake.clients.s3.get_object(Bucket=lake.lake_bucket, Key=path)["Body"].read()
    group = pq.ParquetFile(pa.BufferReader(body)).metadata.row_group(0)
    bounds = {group.column(n).path_in_schema: group.column(n).statistics for n in range(group.num_columns)}
    assert "object_owner" not in bounds
    assert {name for name, found in bounds.items() if found and found.has_min_max} <= COLUMNS_WITH_STATISTICS
    assert bounds["size"].has_min_max
    found = inventories.rows("DISTINCT is_latest, is_delete_marker, e_tag, last_modified_date, inventory_created")
    modified, created = datetime(2026, 1, 2, 3, 4, 5), datetime.fromtimestamp(FIRST, UTC).replace(tzinfo=None)
    assert found == sorted(
        [
            (latest, marker, etag, modified, created)
            for latest, marker, etag in [
                (True, False, "e"),
                (False, False, "e"),
                (True, True, None),
                (None, None, None),
            ]
        ],
        key=repr,
    )
    # Without a version ID, the API of S3 would work on the current version.
    assert inventories.rows("bucket, size, version_id = 'null'") == sorted(
        [(bucket, size, None if kind == "weekly" else size == 7) for bucket, kind, _, size in expected], key=repr
    )
    assert inventories.rows("count(replication_status)") == [(0,)]
    assert {row.rows for row in done.batch.rows} == {6, 2, 1}
    sources = inventories.rows("DISTINCT bucket, configuration, _source_path")
    assert len(sources) == 9
    assert all(f"/{bucket}/{configuration}/" in path for bucket, configuration, path in sources)

    # A newer inventory, with a field that the table does not know, and an empty one.
    moment = datetime(2026, 5, 6, tzinfo=UTC)
    later = "IntelligentTieringReferenceDate"
    for format in FORMATS:
        lines = [line("new", 9, more={later: moment})]
        inventories.deliver(lines, 1, f"acme-{format.lower()}", "versions", format=format, fields=[later])
    inventories.deliver([], 1, "acme-csv", "weekly", files=0)
    (done,) = inventories.run()
    kept = [row for row in expected if row[1] != "versions" and (row[0], row[1]) != ("acme-csv", "weekly")]
    new = [(f"acme-{format.lower()}", "versions", "new", 9) for format in FORMATS]
    assert inventories.rows() == sorted(kept + new, key=repr)
    texts = inventories.rows("bucket, left(intelligent_tiering_reference_date, 10)")
    assert [text for bucket, text in texts if text] == ["2026-05-06"] * 3
    assert done.landed.version == inventories.kit.state(inventories.lake, "objects").version, "one commit"
    before = f"SELECT bucket, configuration, key, size FROM {{t}} VERSION AS OF {done.landed.version - 1}"
    then = inventories.kit.query(inventories.lake, before, t=location)
    assert sorted(map(tuple, then), key=repr) == sorted(expected, key=repr)


def test_an_older_inventory_never_replaces_a_newer_one_and_a_second_delivery_changes_nothing(
    inventories: Inventories,
) -> None:
    def mine() -> list[tuple[Any, ...]]:
        return [row for row in inventories.rows() if row[0] == "order"]

    newest = inventories.deliver([line("third")], 3, "order")
    inventories.run()
    older = inventories.deliver([line("second")], 2, "order")
    inventories.run()
    assert mine() == [("order", "all", "third", 1)]
    assert inventories.fate(older)[0] == "committed"
    assert inventories.fate(older)[1].startswith("older than the inventory of 2026-11-04T01-00Z, which the table has")
    inventories.kit.send(inventories.lake, inventories.kit.event(inventories.lake, newest.checksum))
    (again,) = inventories.run()
    assert again.batch.counts() == {"duplicate": 1}
    # Several at once: the newest that is complete enters, and those before it bring nothing.
    whole = [inventories.make([line(f"day {day}")], day, "order") for day in (4, 5, 6)]
    missing = whole[2].data[0]
    for delivery in (whole[1], whole[0], whole[2]):
        inventories.put(delivery, without=(missing,))
    (done,) = inventories.run()
    assert done.batch.counts() == {"committed": 2, "waiting": 1}
    assert mine() == [("order", "all", "day 5", 1)]
    status, reason = inventories.fate(whole[2])
    assert (status, f"{missing} is gone" in reason) == ("waiting", True)
    inventories.lake.put(missing, whole[2].objects[missing])
    # The next delivery of any bucket is a reason to look again.
    inventories.deliver([line("x")], 0, "another")
    (done,) = inventories.run()
    assert done.batch.counts() == {"committed": 2}
    assert mine() == [("order", "all", "day 6", 1)]
    assert inventories.lake.lake.table(inventories.lake.key("objects")).waiting_signals.read_all() == []


def test_a_dropped_bucket_leaves_the_table_keeps_its_past_and_returns_with_its_next_inventory(
    inventories: Inventories,
) -> None:
    def drop() -> None:
        lake = inventories.lake
        run_drop(Console(file=StringIO()), lake.lake, lake.lake.store.objects, "objects", ["dropped"], yes=True)

    def mine() -> list[tuple[Any, ...]]:
        return [row for row in inventories.rows() if row[0] == "dropped"]

    def late() -> set[str]:
        return {
            late_inventory.subject.bucket
            for late_inventory in find_late_inventories(inventories.lake.lake.table(inventories.lake.key("objects")))
            or ()
        }

    inventories.deliver([line("a"), line("b")], -20, "dropped")
    inventories.run()
    assert (len(mine()), "dropped" in late()) == (2, True)
    drop()
    (done,) = inventories.run()
    assert done.batch.counts() == {"committed": 1}
    assert (mine(), "dropped" in late()) == ([], False)
    table = inventories.lake.lake.table(inventories.lake.key("objects"))
    (dropped,) = newest_deliveries(table.key, table.ledger)[Subject("dropped", "all")]
    inventories.deliver([line("d")], (dropped.began_at.timestamp() + 1 - FIRST) / DAY, "dropped")  # of its minute
    inventories.run()
    assert (mine(), newest_deliveries(table.key, table.ledger)[dropped.subject]) == ([], [dropped])
    (key,) = newest_keys_below(table.ledger, table.ledger.clock().version, ["inventory/dropped/all/"]).values()
    assert key == f"inventory/dropped/all/{dropped.began}/manifest.checksum"
    before = f"SELECT key FROM {{t}} VERSION AS OF {done.landed.version - 1} WHERE bucket = 'dropped' ORDER BY key"
    lake, location = inventories.lake, inventories.kit.location(inventories.lake, "objects")
    assert [row["key"] for row in inventories.kit.query(lake, before, t=location)] == ["a", "b"]
    drop()
    assert inventories.run() == [], "a second command finds that it was dropped"
    inventories.deliver([line("c")], int((time.time() - FIRST) // DAY) + 1, "dropped")
    inventories.run()
    assert mine() == [("dropped", "all", "c", 1)]


def test_what_is_not_as_s3_wrote_it_is_never_loaded_and_keeps_no_other_bucket_waiting(inventories: Inventories) -> None:
    inventories.deliver([line("good")], 0, "sound")
    manifest = inventories.make([line("bad")], 0, "manifest")
    inventories.put(manifest)
    inventories.lake.put(manifest.manifest, manifest.objects[manifest.manifest] + b" ")
    data = inventories.make([line("bad")], 0, "data")
    inventories.put(data)
    inventories.lake.put(data.data[0], data.objects[data.data[0]][::-1])
    values = inventories.deliver([line("bad", "many")], 0, "values")  # type: ignore[arg-type]
    copied = inventories.make([line("bad")], 0, "copied")
    for key, body in copied.objects.items():
        inventories.lake.put(key.replace("/copied/", "/other/"), body)
    inventories.run()
    buckets = {row[0] for row in inventories.rows()}
    assert "sound" in buckets
    assert buckets.isdisjoint({"manifest", "data", "values", "copied", "other"})
    fates = {name: inventories.fate(delivery) for name, delivery in [("m", manifest), ("d", data), ("v", values)]}
    assert {status for status, _ in fates.values()} == {"quarantined"}
    assert "its MD5 differs from the one in manifest.checksum" in fates["m"][1]
    assert "its size or MD5 differs" in fates["d"][1]
    assert "many" in fates["v"][1]


def test_a_file_that_changes_while_it_is_read_keeps_its_inventory_out(inventories: Inventories) -> None:
    first = inventories.deliver([line("old")], 0, "changing")
    inventories.run()
    delivery = inventories.deliver([line("new")], 1, "changing")
    written = staging._write_rows

    def change(*given: Any) -> Any:
        adds = written(*given)
        inventories.lake.put(delivery.data[0], first.objects[first.data[0]])
        return adds

    with patch.object(staging, "_write_rows", change):
        (done,) = inventories.run()
    assert (done.batch.adds, len(done.batch.deferred)) == ((), 1)
    assert [row for row in inventories.rows() if row[0] == "changing"] == [("changing", "all", "old", 1)]
    inventories.lake.put(delivery.data[0], delivery.objects[delivery.data[0]])
    inventories.run()
    assert [row for row in inventories.rows() if row[0] == "changing"] == [("changing", "all", "new", 1)]


def test_a_run_that_dies_at_a_seam_replaces_a_partition_once(inventories: Inventories) -> None:
    """Each run dies one seam later than the run before it, and begins with what that one left."""
    inventories.deliver([line("old")], 0, "dies")
    inventories.run()
    inventories.deliver([line("new"), line("more")], 1, "dies")
    for seam in ("prepare", "commit", "record-ledger"):
        with seams_watched(), dying_at(seam):
            inventories.run()
    inventories.run()
    mine = [row for row in inventories.rows("bucket, key, _batch") if row[0] == "dies"]
    assert sorted(row[1] for row in mine) == ["more", "new"]
    assert len({row[2] for row in mine}) == 1
    assert inventories.run() == []
