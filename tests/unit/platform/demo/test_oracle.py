"""The demo's oracle: its result for the real folder, and how the result follows changes of the folder."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.platform.demo import oracle, producers
from tidegate.platform.demo.operations import Operations


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "producers"
    producers.produce(folder)
    return folder


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, Any]:
    """Return the result of the oracle, which runs as a script in a Python without Tidegate."""
    script = [sys.executable, "-I", str(oracle.__file__), str(folder)]
    return dict(json.loads(subprocess.run(script, check=True, capture_output=True, timeout=120).stdout))


def rows(part: dict[str, Any]) -> dict[str, int]:
    return {name: table["rows"] for name, table in part["tables"].items()}


def test_after_wave_1_tables_are_the_source(expected: dict[str, Any]) -> None:
    first = expected["after_wave"]["1"]
    assert rows(first) == {
        "bronze.flights": 336_776 - 100,  # 100 rows come in wave 2
        "silver.flights": 336_776 - 100 - 36,  # 36 rows are deleted already
        "bronze.weather": 26_115,
        "silver.weather": 26_115,
        "bronze.planes": 3_322 - 80,
        "bronze.airports": 1_458,
        "bronze.airlines": 16,
        "bronze.delays": 400,
        "bronze.fleet": 23,  # planes without missing values
    }
    assert first["quarantined"] == {"objects": {"fleet/incomplete.csv": "no row of it fits"}, "rows": {}}
    assert first["redriven"] == []
    assert first["events"] == {"ledger": 740, "own_file": 0, "no_table": 0, "malformed": 0}


def test_after_wave_2(expected: dict[str, Any], folder: Path) -> None:
    removed = pq.read_metadata(folder / "files/wave-1/flights/month%3D12/day%3D24/part-0001.parquet").num_rows
    added = 20 * 15 + 10 * 10 + 5 * 10 + 12 * 3 + 5 * 55 + 20 + 100 + 10
    assert expected["after_wave"]["2"]["tables"] == expected["tables"]
    assert rows(expected) == {
        "bronze.flights": 336_776 - 100 + added - removed,
        "silver.flights": 336_776 - removed - 100 - 24,  # 100 are deleted now; one per month of the 36 returns
        "bronze.weather": 26_870,
        # Corrections: overwritten days, updated rows, late ones, some that return, awkward names, a file with bad rows.
        "silver.weather": 26_115 + 110 + 72 + (30 + 72) + 6 + (20 + 21 + 22 + 23) + 10,
        "bronze.planes": 3_242 + 811 + 60 + 18,
        "bronze.airports": 1_458,
        "bronze.airlines": 32,
        "bronze.delays": 400,
        "bronze.fleet": 3_322,
    }
    assert expected["redriven"] == ["fleet/incomplete.csv"]
    assert set(expected["quarantined"]["objects"]) == {
        "flights/month=6/day=6/part-0002.parquet",
        "flights/month=6/day=7/part-0002.parquet",
        "weather/empty.json",
    }
    assert expected["quarantined"]["rows"] == {"weather/broken-rows.json": 2, "planes/planes-6.csv": 2}
    assert expected["gone"] == ["weather/never-was.json"]
    assert expected["events_sent"] == 839 == sum(expected["events"].values())
    assert expected["events"] == {"ledger": 834, "own_file": 1, "no_table": 2, "malformed": 2}


def test_a_replay_is_events_without_rows(expected: dict[str, Any]) -> None:
    assert expected["replay"] == {
        "events_sent": 823,
        "events": {"ledger": 820, "own_file": 1, "no_table": 2, "malformed": 0},
    }


def test_silver_has_no_key_twice(expected: dict[str, Any]) -> None:
    for name, table in expected["tables"].items():
        values = {check["name"]: check["value"] for check in table["checks"]}
        assert values["rows"] == table["rows"]
        if name == "silver.weather":
            assert (values["distinct_keys"], values["current"]) == (26_115, 26_115 - 72 + 6)
        elif name.startswith("silver"):
            assert values["distinct_keys"] == table["rows"]


class Part:
    """A few operations of the real folder. Its files are links until they are changed."""

    def __init__(self, folder: Path, at: Path, start: str) -> None:
        self.at = at
        lines = (folder / "operations.jsonl").read_text().splitlines()
        self.operations = [
            operation for line in lines if (operation := json.loads(line))["key"] and operation["key"].startswith(start)
        ]
        for operation in self.operations:
            if "file" in operation:
                (at / operation["file"]).parent.mkdir(parents=True, exist_ok=True)
                (at / operation["file"]).write_bytes((folder / operation["file"]).read_bytes())

    def expect(self) -> dict[str, Any]:
        (self.at / "operations.jsonl").write_text("\n".join(json.dumps(operation) for operation in self.operations))
        return oracle.expect(self.at)


def checks(expected: dict[str, Any], table: str) -> dict[str, int]:
    return {check["name"]: check["value"] for check in expected["tables"][table]["checks"]}


def test_a_dropped_file_is_seen(folder: Path, tmp_path: Path) -> None:
    part = Part(folder, tmp_path, "flights/month=1/day=2/")
    before = part.expect()
    del part.operations[0]
    after = part.expect()
    assert rows(before)["bronze.flights"] == 943 + 15
    assert rows(after)["bronze.flights"] == 15
    assert checks(before, "silver.flights")["keys"] != checks(after, "silver.flights")["keys"]


@pytest.mark.parametrize("loss", [0, 1])
def test_a_doubled_row_is_seen_even_where_another_is_lost(folder: Path, tmp_path: Path, loss: int) -> None:
    part = Part(folder, tmp_path, "flights/month=1/day=2/")
    before = part.expect()
    file = tmp_path / part.operations[0]["file"]
    table = pq.read_table(io.BytesIO(file.read_bytes()))
    pq.write_table(pa.concat_tables([table.slice(0, 1), table.slice(0, len(table) - loss)]), file)
    after = part.expect()
    assert rows(after)["bronze.flights"] == rows(before)["bronze.flights"] + 1 - loss
    assert checks(before, "bronze.flights")["keys"] != checks(after, "bronze.flights")["keys"]
    assert checks(before, "bronze.flights")["content"] != checks(after, "bronze.flights")["content"]


def test_a_changed_value_is_seen(folder: Path, tmp_path: Path) -> None:
    part = Part(folder, tmp_path, "weather/2013-02-0")
    before = part.expect()
    file = tmp_path / part.operations[0]["file"]
    file.write_text(file.read_text().replace('"temp": ', '"temp": 1', 1))
    after = part.expect()
    assert checks(before, "silver.weather")["keys"] == checks(after, "silver.weather")["keys"]
    assert checks(before, "silver.weather")["content"] != checks(after, "silver.weather")["content"]


def line(hour: int, minute: int, temp: float, *, deleted: bool = False) -> bytes:
    stamp = f"2013-01-01T{hour:02d}:00:00Z"
    row = {"origin": "EWR", "time_hour": stamp, "updated_at": f"2013-01-02T00:{minute:02d}:00Z"}
    return (json.dumps(row | {"temp": temp, "deleted": deleted}) + "\n").encode()


def test_a_tombstone_holds_against_older_rows_only(tmp_path: Path) -> None:
    does = Operations(tmp_path)
    does.put("weather/1.json", line(1, 5, 1.0, deleted=True) + line(2, 5, 1.0, deleted=True), "deleted")
    does.wave = 2
    does.put("weather/2.json", line(1, 4, 2.0) + line(2, 6, 2.0), "late, and back")
    does.write()
    expected = oracle.expect(tmp_path)
    assert rows(expected["after_wave"]["1"])["silver.weather"] == 0
    # The late row is valid until the deletion, and the one that is back is valid now.
    assert (rows(expected)["silver.weather"], checks(expected, "silver.weather")["current"]) == (2, 1)


def test_rows_of_a_history_that_differ_in_their_time_alone_are_one(tmp_path: Path) -> None:
    times = ((1, 1.0), (2, 1.0), (3, 2.0), (4, 1.0), (4, 1.0))
    does = Operations(tmp_path)
    does.put("weather/1.json", b"".join(line(1, minute, temp) for minute, temp in times), "export")
    does.write()
    assert rows(oracle.expect(tmp_path))["silver.weather"] == 3


def test_one_place_in_time_with_two_values_is_refused(tmp_path: Path) -> None:
    does = Operations(tmp_path)
    does.put("weather/1.json", line(1, 5, 1.0) + line(1, 5, 2.0), "a tie")
    does.write()
    with pytest.raises(ValueError, match="no rule decides"):
        oracle.expect(tmp_path)


def test_loaded_tables_keep_every_content_once(tmp_path: Path) -> None:
    does = Operations(tmp_path)
    does.put("weather/1.json", line(1, 5, 1.0), "export")
    does.put("weather/2.json", line(2, 5, 1.0), "export")
    does.wave = 2
    does.put("weather/1.json", line(1, 6, 1.0) + line(3, 6, 1.0), "overwritten")
    does.put_again("weather/2.json", "same bytes again")
    does.wave = 3
    does.delete("weather/1.json", "removed")
    does.write()
    expected = oracle.expect(tmp_path)
    assert rows(expected)["bronze.weather"] == 4
    assert rows(expected)["silver.weather"] == 3, "an equal value with a later time is not a change"
    assert expected["tables"]["bronze.weather"]["files"] == 3
    assert expected["removed"] == ["weather/1.json"]
    assert [operation["replay"] for operation in does.write()] == [False, True, False, True, False]


def test_a_file_without_one_good_row_waits_until_it_is_fixed(tmp_path: Path) -> None:
    columns = ("tailnum", "year", "type", "manufacturer", "model", "engines", "seats", "speed", "engine")
    header = ",".join(f'"{name}"' for name in ("", *columns)).encode() + b"\n"
    does = Operations(tmp_path)
    does.put("fleet/1.csv", header + b'"1","N1",1,"a","b","c",1,2,3,"d"\n', "complete")
    does.put("fleet/2.csv", header + b'"2","N2",NA,"a","b","c",1,2,NA,"d"\n', "incomplete")
    does.wave = 2
    does.fix("fleet/2.csv", ["NA"], "mended")
    does.put_again("fleet/2.csv", "same bytes again")
    does.write()
    expected = oracle.expect(tmp_path)
    first = expected["after_wave"]["1"]
    assert (rows(first)["bronze.fleet"], list(first["quarantined"]["objects"])) == (1, ["fleet/2.csv"])
    assert rows(expected)["bronze.fleet"] == expected["tables"]["bronze.fleet"]["files"] == 2
    assert expected["quarantined"]["objects"] == {}
    assert expected["redriven"] == ["fleet/2.csv"]
    assert expected["events_sent"] == 3, "a mend is not an event"


def test_a_fix_of_what_is_not_wrong_is_refused(tmp_path: Path) -> None:
    does = Operations(tmp_path)
    does.put("airlines/1.csv", b"carrier,name\nNA,Skyways\n", "export")
    does.wave = 2
    does.fix("airlines/1.csv", ["NA"], "mended")
    does.write()
    with pytest.raises(ValueError, match="fixes nothing"):
        oracle.expect(tmp_path)


@pytest.mark.parametrize(
    ("bucket", "key", "outcome"),
    [
        (oracle.BUCKET, "weather/a b.json", "ledger"),
        (oracle.BUCKET, "weather//a.json", "ledger"),
        (oracle.BUCKET, "flights/_day=1/a.parquet", "ledger"),
        (oracle.BUCKET, "weather/_a.json", "own_file"),
        (oracle.BUCKET, "weather/.tmp/a.json", "own_file"),
        (oracle.BUCKET, "exports/a.txt", "no_table"),
        ("another", "weather/a.json", "no_table"),
    ],
)
def test_where_an_event_goes(bucket: str, key: str, outcome: str) -> None:
    assert oracle.outcome(bucket, key) == outcome
