"""`mode: repartition`: each row is in the output once, as the text that it was, whatever dies or sleeps."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.lakes.outputs import configure, objects, staged
from tests.support.lakes.seams import Standing, dying_at, seams_watched
from tidegate.platform.bronze import publish
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import SEAMS, run_table
from tidegate.platform.core.errors import ConfigurationError, DataError
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake_root.batches import GenerationRetired
from tidegate.platform.operations.object_trace import trace
from tidegate.platform.operations.rebuild import rebuild_table
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_objects, redrive_objects
from tidegate.platform.operations.reset import reset_table
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]


def _table(name: str = "clicks", **output: Any) -> dict[str, Any]:
    folder = f"{name}/date={{at:date}}/market={{shop.market}}/"
    return {
        "name": name,
        "prefix": f"{name}/",
        "format": "json",
        "mode": "repartition",
        "output": {"folder": folder, **output},
    }


def _rows(lake: TestLake, prefix: str = "") -> list[tuple[str, str]]:
    """Return the folder and text of each row in the output, which is gzip, in order."""
    return sorted(
        (key.rpartition("/")[0], line)
        for key, body in objects(lake, prefix).items()
        for line in gzip.decompress(body).decode().splitlines()
    )


def _row(i: int, day: str = "2026-01-31", market: str = "de") -> str:
    return json.dumps({"id": i, "at": f"{day}T23:00:00Z", "shop": {"market": market}})


#: Rows of one producer whose types contradict each other. No text may change.
_AS_THEY_ARE = [
    ("clicks/date=2026-02-01/market=de", '{"at":"2026-01-31T23:00:00-01:00", "shop":{"market":"de"}, "v": 1.50}'),
    ("clicks/date=2026-02-01/market=de", '{"shop": {"market": "de"}, "at": "2026-02-01", "v": 12345678901234567890.1}'),
    ("clicks/date=2026-02-01/market=a%2Fb", '{"at": "2026-02-01 00:00:00", "shop": {"market": "a/b"}, "v": {"v": []}}'),
    ("clicks/date=2026-02-01/market=7", '{"at": "2026-02-01", "v": 1, "v": 2, "shop": {"market": 7}, "x": "\\ud800"}'),
    ("clicks/date=__HIVE_DEFAULT_PARTITION__/market=__HIVE_DEFAULT_PARTITION__", "{}"),
    ("clicks/date=__HIVE_DEFAULT_PARTITION__/market=__HIVE_DEFAULT_PARTITION__", '{"a": 1}'),
    ("clicks/date=__HIVE_DEFAULT_PARTITION__/market=__HIVE_DEFAULT_PARTITION__", '{"a": 2}'),
    ("clicks/date=__HIVE_DEFAULT_PARTITION__/market=__HIVE_DEFAULT_PARTITION__", '{"a":  3  }'),
    ("clicks/date=__HIVE_DEFAULT_PARTITION__/market=__HIVE_DEFAULT_PARTITION__", '{"a": 4}'),
]
_BAD = ["no JSON", "[1]", '{"a": NaN}']


def test_rows_go_to_the_folders_of_their_values_as_they_are(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([_table()])
    texts = [text for _, text in _AS_THEY_ARE]
    lake.put("clicks/1.json", "\n".join(texts[:2]))
    lake.put("clicks/2.json.gz", gzip.compress("\n".join([*texts[2:4], "", " ".join(texts[5:7]), *_BAD]).encode()))
    lake.put("clicks/3.json", f"[{texts[4]}]")
    lake.put("clicks/4.json", '{"a":\n 3\r\n}\n{"b":')
    lake.put("clicks/5.json", '{"a": 4}\n{"b":')
    lake.put("clicks/bad.json", "no JSON\n")
    lake.put("clicks/big.json", "".join(f"{_row(i, '2026-03-01')}\n" for i in range(2000)))
    (first,) = kit.run(lake, "clicks")
    assert [row for row in _rows(lake) if "2026-03" not in row[0]] == sorted(_AS_THEY_ARE)
    assert len(_rows(lake, "clicks/date=2026-03-01/")) == 2000
    assert len(objects(lake)) == len(first.batch.objects) == 5, "one object for each folder"
    assert staged(lake) == []
    assert not first.batch.commits
    rows = {row["key"]: (row["status"], row["rows"], row["bad_rows"]) for row in kit.ledger(lake, "clicks")}
    assert rows == {
        "clicks/1.json": ("committed", 2, None),
        "clicks/2.json.gz": ("committed", 4, 3),
        "clicks/3.json": ("committed", 1, None),
        "clicks/4.json": ("committed", 1, 1),
        "clicks/5.json": ("committed", 1, 1),
        "clicks/bad.json": ("quarantined", None, None),
        "clicks/big.json": ("committed", 2000, None),
    }
    assert kit.run(lake, "clicks") == [], "a listing has nothing new"

    # A file that comes again, and a late row: an object of its own in the folder of its values.
    before = objects(lake)
    lake.put("clicks/1.json", "\n".join(texts[:2]))
    lake.put("clicks/late.json", _row(9, "2026-02-01"))
    kit.run(lake, "clicks")
    now = objects(lake)
    assert {key: now[key] for key in before} == before
    (late,) = now.keys() - before.keys()
    assert late.startswith("clicks/date=2026-02-01/market=de/clicks-0000000002-00000-")

    # A file that is wholly in quarantine can come again. Of one that is partly in the output, no row comes twice.
    choice = Choice(key="clicks/*")
    found = quarantined_objects(lake.lake, lake.key("clicks"), choice)
    assert [item.key for item in found] == ["clicks/2.json.gz", "clicks/4.json", "clicks/5.json", "clicks/bad.json"]
    redrive_objects(lake.lake, lake.key("clicks"), found, RedriveRequest("somebody", choice))
    kit.run(lake, "clicks")
    assert objects(lake) == now
    reasons = {row["key"]: row["reason"] for row in kit.ledger(lake, "clicks") if row["status"] == "quarantined"}
    assert "nothing can replace them" in reasons["clicks/2.json.gz"]
    with pytest.raises(DataError, match="would write each row a second time"):
        rebuild_table(lake.lake, lake.key("clicks"), by="somebody")
    assert "are in the output of clicks since batch 1" in trace(lake.lake, lake.bucket, "clicks/3.json").verdict

    lake.put("clicks/new.json", _row(10))
    metadata = kit.metadata(lake.materialize("bronze", "clicks"))
    assert metadata["dagster/uri"] == f"s3://{lake.output_bucket}/{_table()['output']['folder']}"
    assert (metadata["files"], metadata["rows"], metadata["objects"]) == (1, 1, 1)


def test_objects_have_a_size_and_a_compression_that_spark_reads(tidegate_lake: MakeLake, kit: Any) -> None:
    table = _table(compression="zstd", object_bytes=20_000)
    table["output"] |= {"folder": "{type}/{event:type}-{at:hour}/", "key": "clicks/{type}/**"}
    lake = tidegate_lake([table], event_types=[{"key": "clicks/{type}/**"}])
    noise = random.Random(1)
    lines = [f'{{"at": "2026-01-31T23:00:00Z", "v": "{noise.randbytes(30).hex()}"}}' for _ in range(20_000)]
    lake.put("clicks/web/1.json", "\n".join(lines))
    lake.put("clicks/app=1/x/2.json", _row(-1))
    lake.put("clicks/nowhere.json", _row(-2))
    (done,) = kit.run(lake, "clicks")
    assert kit.fate(lake, "clicks")["nowhere.json"][0] == "quarantined"
    sizes = [item.size for item in done.batch.objects if item.key.startswith("web/web-23/")]
    assert len(sizes) > 1
    assert max(sizes) < 200_000
    assert done.batch.objects[0].key.startswith("app%3D1/app%3D1-23/clicks-0000000001-00000-")
    read = lake.lake.delta.session.read.text(f"s3a://{lake.output_bucket}/web/web-23/")
    assert sorted(row[0] for row in read.collect()) == sorted(lines)


@pytest.fixture(scope="module")
def one_each(module_lake: Callable[..., TestLake]) -> TestLake:
    return module_lake([_table(f"t{i}") for i in range(len(SEAMS) + len(publish.SEAMS))])


@pytest.mark.parametrize("seam", [*SEAMS, *publish.SEAMS])
def test_a_run_that_dies_at_a_seam_leaves_no_row_twice_and_loses_none(seam: str, one_each: TestLake, kit: Any) -> None:
    lake, name = one_each, f"t{[*SEAMS, *publish.SEAMS].index(seam)}"
    expected = []
    for wave in range(2):
        rows = [(f"2026-01-0{1 + i % 3}", _row(10 * wave + i, f"2026-01-0{1 + i % 3}")) for i in range(6)]
        expected += [(f"{name}/date={day}/market=de", row) for day, row in rows]
        lake.put(f"{name}/{wave}.json", "\n".join(row for _, row in rows))
        lake.put(f"{name}/bad{wave}.json", "no JSON\n")
        with seams_watched(), dying_at(seam):
            kit.run(lake, name)
        kit.run(lake, name)
        assert _rows(lake, f"{name}/") == sorted(expected)
    assert Counter(row["status"] for row in kit.ledger(lake, name)) == {"committed": 2, "quarantined": 2}
    assert kit.run(lake, name) == []
    store = lake.lake.store
    assert list(store.objects.list_under(store.bucket, store.key("outputs", lake.key(name), ""))) == [], (
        "no staged object"
    )


@pytest.mark.parametrize("asleep_at", ["decide", "copy", "commit"])
def test_a_run_that_copies_late_brings_nothing_back(asleep_at: str, tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([_table()])
    lake.put("clicks/1.json", "\n".join([_row(1), _row(2, market="fr")]))
    with seams_watched():
        sleeper = Standing(
            asleep_at,
            lambda: run_table(lake.lake.table(lake.key("clicks")), RunOptions(run_id="sleeper", listing=True)),
        )
        sleeper.wait_reached()
        (other,) = kit.run(lake, "clicks")
        assert other.found
        assert len(_rows(lake)) == 2
        # A reader of the output has taken the objects away since.
        for key in objects(lake):
            lake.clients.s3.delete_object(Bucket=lake.output_bucket, Key=key)
        sleeper.resume()
        sleeper.finished()
    assert _rows(lake) == []
    assert [row["status"] for row in kit.ledger(lake, "clicks")] == ["committed"]


def test_a_reset_begins_a_new_generation_and_ends_the_copies_of_the_old_one(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([_table()])
    table_key = lake.key("clicks")
    lake.put("clicks/1.json", "\n".join([_row(1), _row(2, market="fr")]))
    with seams_watched():
        sleeper = Standing("decide", lambda: run_table(lake.lake.table(table_key), RunOptions("sleeper", listing=True)))
        sleeper.wait_reached()
        reset_table(lake.lake, table_key, by="somebody")
        sleeper.resume()
        with pytest.raises(GenerationRetired):
            sleeper.finished()
    assert _rows(lake) == []
    kit.run(lake, "clicks")
    assert len(_rows(lake)) == 2
    # From an output to a table, and back.
    configure(lake, mode="load", output=None)
    lake.put("clicks/2.json", _row(3))
    with pytest.raises(ConfigurationError, match=r"was born with mode repartition.*tidegate reset clicks"):
        kit.run(lake, "clicks")
    reset_table(lake.lake, table_key, by="somebody")
    kit.run(lake, "clicks")
    assert [id for (id,) in kit.bronze(lake, "clicks", "id")] == [1, 2, 3]
    configure(lake, mode="repartition", output={"folder": f"s3://{lake.output_bucket}/n/"})
    lake.put("clicks/3.json", _row(4))
    with pytest.raises(ConfigurationError, match=r"was born with mode load.*tidegate reset clicks"):
        kit.run(lake, "clicks")
    reset_table(lake.lake, table_key, by="somebody")
    kit.run(lake, "clicks")
    assert len(_rows(lake, "n/")) == 4


def test_a_batch_waits_for_an_output_that_cannot_be_written(tidegate_lake: MakeLake, kit: Any, tmp_path: Path) -> None:
    lake = tidegate_lake([_table()])
    lake.put("clicks/1.json", _row(1))
    lake.clients.s3.delete_bucket(Bucket=lake.output_bucket)
    for _ in range(2):
        with pytest.raises(StoreError, match=f"s3://{lake.output_bucket}/clicks/.* cannot be written"):
            kit.run(lake, "clicks")
    lake.clients.s3.create_bucket(Bucket=lake.output_bucket)
    kit.run(lake, "clicks")
    assert [row for _, row in _rows(lake)] == [_row(1)]


def test_a_file_of_more_folders_than_a_batch_has_is_quarantined_alone(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate.platform.bronze.prepare.outputs.MAX_OBJECTS", 3)
    lake = tidegate_lake([_table()])
    lake.put("clicks/many.json", "\n".join(_row(i, market=f"m{i}") for i in range(4)))
    lake.put("clicks/two.json", "\n".join(_row(i, market=f"x{i}") for i in range(2)))
    lake.put("clicks/three.json", "\n".join(_row(i, market=f"m{i}") for i in range(3)))
    done = kit.run(lake, "clicks")
    assert [len(result.batch.objects) for result in done] == [3, 2]
    assert len(_rows(lake)) == 5
    status, reason = kit.fate(lake, "clicks")["many.json"]
    assert (status, "more than 3 objects" in reason) == ("quarantined", True)
