"""Datasets with a completion signal enter whole or not at all, in whatever order the events come."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tidegate.platform.core.bronze.hint import Hint, Redriven
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.testing import TestLake

TABLES = [
    {"name": "runs", "prefix": "runs/", "format": "parquet", "completion": "_SUCCESS"},
    {"name": "unload", "prefix": "unload/", "format": "json", "completion": "*manifest", "max_files": 2},
    {"name": "summed", "prefix": "summed/", "format": "csv", "completion": "manifest.checksum"},
    {"name": "repaired", "prefix": "repaired/", "format": "json", "completion": "_SUCCESS"},
]


@pytest.fixture(scope="module")
def lake(module_lake: Callable[..., TestLake]) -> TestLake:
    return module_lake(TABLES)


def until_the_next_second() -> None:
    """Return when S3's times, which have whole seconds, are later than those of what was written so far."""
    end = int(time.time()) + 1
    while time.time() < end:
        time.sleep(end - time.time())


def entries(lake: TestLake, *keys: str) -> str:
    return json.dumps({"entries": [{"url": f"s3://{lake.bucket}/{key}", "mandatory": True} for key in keys]})


def run(lake: TestLake, kit: Any, table: str) -> list[Any]:
    """Run a table with what its events say, without a listing."""
    lake.intake()
    return kit.run(lake, table, listing=False)  # type: ignore[no-any-return]


def test_files_of_a_registered_table_wait_for_their_signal_and_late_ones_for_the_next(lake: TestLake, kit: Any) -> None:
    for n in (1, 2):
        lake.put(f"runs/day=1/part-{n}.parquet", kit.parquet([{"id": n}]))
    run(lake, kit, "runs")
    assert {status for status, _ in kit.fate(lake, "runs").values()} == {"waiting"}
    assert kit.run(lake, "runs") == [], "a listing does not repeat hints of files that wait"

    lake.put("runs/_SUCCESS", "")
    run(lake, kit, "runs")
    assert kit.bronze(lake, "runs", "id") == [(1,), (2,)]
    assert kit.fate(lake, "runs")["_SUCCESS"] == ("complete", "2 of its 2 parts entered with it")

    until_the_next_second()
    lake.put("runs/day=2/late.parquet", kit.parquet([{"id": 3}]))
    run(lake, kit, "runs")
    assert kit.fate(lake, "runs")["day=2/late.parquet"][0] == "waiting"
    assert kit.ledger(lake, "runs")[-1]["cause"] == "late"
    kit.send(lake, kit.event(lake, "runs/_SUCCESS"))
    run(lake, kit, "runs")
    assert kit.bronze(lake, "runs", "id") == [(1,), (2,)], "an old signal does not cover a newer file"
    lake.put("runs/_SUCCESS", "")
    lake.clients.sqs.purge_queue(QueueUrl=lake.lake.queues[0].url)
    kit.run(lake, "runs")
    assert kit.bronze(lake, "runs", "id") == [(1,), (2,), (3,)], "a listing finds a signal that was written again"


def test_a_manifest_waits_for_the_part_that_is_missing_and_exceeds_max_files(lake: TestLake, kit: Any) -> None:
    keys = [f"unload/venue_{n:04}_part_00.json" for n in range(4)]
    lake.put("unload/venue_manifest", entries(lake, *keys))
    for key in keys[1:]:
        lake.put(key, kit.lines({"id": key}))
    run(lake, kit, "unload")
    status, reason = kit.fate(lake, "unload")["venue_manifest"]
    assert (status, reason) == (
        "waiting",
        f"1 of its 4 parts are not there as it names them; the first: {keys[0]} is missing",
    )
    lake.put("unload/stranger.json", kit.lines({"id": "no"}))
    lake.put(keys[0], kit.lines({"id": keys[0]}))
    done = run(lake, kit, "unload")
    assert kit.bronze(lake, "unload", "id") == [(key,) for key in keys]
    assert [len({row.key for row in result.batch.rows if row.status == "committed"}) for result in done] == [4]
    assert kit.fate(lake, "unload")["stranger.json"][0] == "waiting"
    kit.send(lake, kit.event(lake, "unload/venue_manifest"))
    (again,) = run(lake, kit, "unload")
    assert again.batch.counts() == {"duplicate": 1}


def test_a_manifest_of_another_prefix_is_quarantined(lake: TestLake, kit: Any) -> None:
    lake.put("unload/bad_manifest", entries(lake, "unload/x.json", "runs/y.parquet", "z.json"))
    run(lake, kit, "unload")
    status, reason = kit.fate(lake, "unload")["bad_manifest"]
    assert status == "quarantined"
    assert reason.startswith(f"it names s3://{lake.bucket}/runs/y.parquet and 1 more, which is outside of")


def test_a_checksum_completes_its_manifest_as_s3_inventory_writes_it(lake: TestLake, kit: Any) -> None:
    part = b"id\n1\n"
    file = {"key": "summed/data/a.csv", "size": len(part), "MD5checksum": hashlib.md5(part).hexdigest()}
    manifest = json.dumps({"destinationBucket": f"arn:aws:s3:::{lake.bucket}", "files": [file]})
    lake.put("summed/2026-01-01T01-00Z/manifest.json", manifest)
    lake.put("summed/data/a.csv", "id\n2\n")
    lake.put("summed/2026-01-01T01-00Z/manifest.checksum", hashlib.md5(manifest.encode()).hexdigest() + "\n")
    run(lake, kit, "summed")
    status, reason = kit.fate(lake, "summed")["2026-01-01T01-00Z/manifest.checksum"]
    assert (status, "has the MD5" in reason) == ("waiting", True)
    assert "2026-01-01T01-00Z/manifest.json" not in kit.fate(lake, "summed")
    lake.put("summed/data/a.csv", part)
    run(lake, kit, "summed")
    assert kit.bronze(lake, "summed", "id") == [(1,)]


def test_a_bad_part_keeps_its_dataset_out_until_it_is_repaired_and_redriven(lake: TestLake, kit: Any) -> None:
    lake.put("repaired/1/a.json", kit.lines({"id": 1}))
    lake.put("repaired/1/b.json", b"no rows\n")
    lake.put("repaired/1/_SUCCESS", "{}")
    lake.put("repaired/2/c.json", kit.lines({"id": 2}))
    lake.put("repaired/2/_SUCCESS", "{}")
    run(lake, kit, "repaired")
    assert kit.bronze(lake, "repaired", "id") == [(2,)], "another dataset of the batch enters"
    fate = kit.fate(lake, "repaired")
    assert {key: status for key, (status, _) in fate.items()} == {
        "1/a.json": "waiting",
        "1/b.json": "quarantined",
        "1/_SUCCESS": "quarantined",
        "2/c.json": "committed",
        "2/_SUCCESS": "complete",
    }
    assert "repaired/1/b.json" in fate["1/_SUCCESS"][1]
    assert "repaired/1/b.json" in fate["1/a.json"][1]

    until_the_next_second()
    lake.put("repaired/1/b.json", kit.lines({"id": 3}))
    run(lake, kit, "repaired")
    assert kit.bronze(lake, "repaired", "id") == [(2,)], "it may be of another dataset"
    assert "written again after the signal" in kit.fate(lake, "repaired")["1/_SUCCESS"][1]
    hint = Hint("repaired/1/_SUCCESS", Redriven())
    lake.lake.store.inbox.put([Manifest.create(lake.key("repaired"), "redrive", [hint])])
    kit.run(lake, "repaired", listing=False)
    assert kit.bronze(lake, "repaired", "id") == [(1,), (2,), (3,)]
