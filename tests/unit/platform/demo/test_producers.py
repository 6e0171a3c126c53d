"""The demo's producers make the same files and operations from the real data every time."""

from __future__ import annotations

import ast
import hashlib
import json
from collections import Counter, defaultdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.routing.route import table_holding
from tidegate.platform.demo import lake_file, oracle, producers
from tidegate.platform.demo.flights_export import REMOVED_FILE
from tidegate.platform.demo.operations import BUCKET, Operation, Operations
from tidegate.platform.demo.run import activate, lake_file_of
from tidegate.platform.demo.source import SHORT, Source, SourceMissingError, read_source


@pytest.fixture(scope="module")
def source() -> Source:
    return read_source()


@pytest.fixture(scope="module")
def folder(source: Source, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "producers"
    producers.produce(folder, source)
    return folder


@pytest.fixture(scope="module")
def operations(folder: Path) -> list[Operation]:
    return [json.loads(line) for line in (folder / "operations.jsonl").read_text().splitlines()]


def test_the_data_is_the_real_one(source: Source) -> None:
    sheets = (source.weather, source.planes, source.airports, source.airlines)
    assert [len(source.flights), *(len(sheet.rows) for sheet in sheets)] == [
        336_776,
        26_115,
        3_322,
        1_458,
        16,
    ]
    assert "NA" not in {cell for sheet in sheets for row in sheet.rows for cell in row}


def test_a_short_demo_has_everything_that_the_second_wave_does(
    source: Source, operations: list[Operation], tmp_path: Path
) -> None:
    def second(operations: list[Operation]) -> list[tuple[str, str | None, str]]:
        return [
            (operation["op"], operation["key"], operation["kind"]) for operation in operations if operation["wave"] == 2
        ]

    short = producers.produce(tmp_path, source.to_short())
    assert second(short) == second(operations)
    first = Counter((operation["key"] or "").split("/")[0] for operation in short if operation["wave"] == 1)
    assert first == {
        "flights": len(SHORT),
        "weather": len(SHORT) - 1,
        "planes": 4,
        "airports": 2,
        "airlines": 1,
        "delays": 2,
        "fleet": 2,
    }


def test_a_missing_source_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match=r"lacks .*flights.csv.zip; install the extra `demo` \("):
        read_source(tmp_path)


def test_silver_keys_are_unique_in_the_data(source: Source) -> None:
    flights = source.flights.group_by(list(oracle.TABLES["flights"].keys)).aggregate([])
    assert len(flights) == len(source.flights)
    for name in ("weather", "planes", "airports", "airlines"):
        sheet = getattr(source, name)
        places = [sheet.header.index(key) for key in oracle.TABLES[name].keys]
        assert len({tuple(row[place] for place in places) for row in sheet.rows}) == len(sheet.rows)


def test_twice_the_same_bytes(folder: Path, source: Source, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "stale").write_text("of an earlier production")
    producers.produce(tmp_path, source)
    assert _digests(tmp_path) == _digests(folder)


def _digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_operations_are_counted(operations: list[Operation]) -> None:
    assert Counter((operation["wave"], operation["op"]) for operation in operations) == {
        (1, "put"): 740,
        (2, "put"): 81,
        (2, "delete"): 2,
        (2, "redeliver"): 14,
        (2, "message"): 2,
        (2, "mend"): 1,
    }
    first = Counter(operation["key"].split("/")[0] for operation in operations if operation["wave"] == 1)
    assert first == {
        "flights": 365,
        "weather": 364,
        "planes": 4,
        "airports": 2,
        "airlines": 1,
        "delays": 2,
        "fleet": 2,
    }
    assert all(operation["events"] == (operation["op"] != "mend") for operation in operations)
    assert [operation["n"] for operation in operations] == list(range(1, len(operations) + 1))


def test_files_are_what_the_operations_say(folder: Path, operations: list[Operation]) -> None:
    for operation in operations:
        if operation["op"] == "put":
            content = (folder / operation["file"]).read_bytes()
            etag = hashlib.md5(content, usedforsecurity=False).hexdigest()
            assert (operation["size"], operation["etag"]) == (len(content), etag)


def test_a_wave_gives_a_key_one_state(operations: list[Operation]) -> None:
    states: dict[tuple[int, str], set[Any]] = defaultdict(set)
    etags: dict[str, set[str]] = defaultdict(set)
    for operation in operations:
        if operation["op"] in ("put", "delete"):
            states[operation["wave"], operation["key"]].add(operation.get("etag"))
            etags[operation["key"]] |= {operation["etag"]} if "etag" in operation else set()
    assert all(len(state) == 1 for state in states.values())
    assert all(len(etag) == 1 for key, etag in etags.items() if key.endswith(".parquet"))
    assert sum(len(etag) == 2 for etag in etags.values()) == 7


def test_a_replay_leaves_the_bucket_as_it_is(operations: list[Operation]) -> None:
    bucket: dict[str, str] = {}
    for operation in operations:
        if operation["op"] == "put":
            bucket[operation["key"]] = operation["etag"]
        elif operation["op"] == "delete":
            del bucket[operation["key"]]
    again = [operation for operation in operations if operation["replay"]]
    assert {operation["op"] for operation in again} == {"put", "redeliver"}
    assert all(bucket[operation["key"]] == operation["etag"] for operation in again if operation["op"] == "put")
    assert not any(
        operation["kind"].startswith("bad") and operation["op"] == "put" and operation["size"] < 100
        for operation in again
    )


def test_redelivered_notifications_have_the_shape_of_s3(operations: list[Operation]) -> None:
    by_n = {operation["n"]: operation for operation in operations}
    for operation in (operation for operation in operations if operation["op"] == "redeliver"):
        (record,) = json.loads(operation["body"])["Records"]
        assert record["eventName"] == operation["event"]
        assert record["eventTime"] < "2025"
        assert len(record["s3"]["object"]["sequencer"]) == 16
        etag = record["s3"]["object"].get("eTag")
        assert etag in (None, by_n[operation["of"]]["etag"] if operation["of"] else "0" * 32)
    names = [
        json.loads(operation["body"])["Records"][0]["s3"]["object"]["key"]
        for operation in operations
        if operation["op"] == "redeliver"
    ]
    assert "weather/late+report+50%25%2B%C3%A9.json" in names


def test_awkward_and_hidden_names_are_there(operations: list[Operation]) -> None:
    keys = {operation["key"] for operation in operations if operation["op"] == "put"}
    assert keys >= {
        "weather/b1.json",
        "weather/b[1].json",
        "weather//late.json",
        "weather/late report 50%+é.json",
        "weather/_tmp.json",
        "flights/month=5/day=5/late 50%+é.parquet",
        "exports/README.txt",
    }


def test_nothing_depends_on_the_removed_file_but_its_rows(operations: list[Operation]) -> None:
    of_that_day = [
        operation for operation in operations if (operation["key"] or "").startswith(REMOVED_FILE.rsplit("/", 1)[0])
    ]
    assert [operation["op"] for operation in of_that_day] == ["put", "delete", "redeliver"]


def test_the_notebooks_files_are_what_pandas_writes_by_default(folder: Path, source: Source) -> None:
    """They have nanoseconds, names with blanks and brackets, and an index. The values are those of the flights."""
    stored = pq.read_table(folder / "files/wave-1/delays/2013-h1.parquet")
    assert stored.schema.field("Left At").type == pa.timestamp("ns", tz="UTC")
    assert stored.schema.pandas_metadata["index_columns"] == ["__index_level_0__"]
    assert {"Tail Number", "Delay (min)"} < set(stored.column_names)
    row = stored.slice(7, 1).to_pylist()[0]
    flight = source.flights.slice(row["__index_level_0__"], 1).to_pylist()[0]
    assert (row["Flight No"], row["Delay (min)"], row["From"]) == (
        flight["flight"],
        flight["dep_delay"],
        flight["origin"],
    )
    late = timedelta(minutes=flight["minute"] + flight["dep_delay"])
    assert row["Left At"].to_pydatetime() == flight["time_hour"] + late


def test_r_quotes_text_alone_and_names_no_row_names(folder: Path) -> None:
    lines = (folder / "files/wave-1/fleet/incomplete.csv").read_text().splitlines()
    assert lines[0].startswith('"","tailnum","year"')
    assert lines[1] == ('"1","N10156",2004,"Fixed wing multi engine","EMBRAER","EMB-145XR",2,55,NA,"Turbo-fan"')
    assert all(",NA," in line for line in lines[1:])
    assert ",NA," not in (folder / "files/wave-1/fleet/complete.csv").read_text()


def test_what_was_never_put_cannot_be_fixed(tmp_path: Path) -> None:
    does = Operations(tmp_path)
    with pytest.raises(ValueError, match="does not exist"):
        does.fix("fleet/a.csv", ["NA"], "mended")


def test_the_lake_file_takes_the_fix(operations: list[Operation], tmp_path: Path) -> None:
    """A line of the demo's copy of lake.yaml is commented out. The file is in quarantine until that line is active."""
    (operation,) = (operation for operation in operations if operation["op"] == "mend")
    own = lake_file_of(tmp_path / "home")
    env = {"TIDEGATE_QUEUE_URL": "http://127.0.0.1:4566/000000000000/tidegate-events"}

    def nulls() -> tuple[str, ...]:
        spec = table_holding(BUCKET, operation["key"], load_lake(own, env=env))
        assert spec is not None
        return spec.csv.nulls

    assert nulls() == ()
    for _ in range(2):  # an interrupted demo activates the line again
        activate(own, operation)
        assert nulls() == ("NA",)
        assert lake_file_of(tmp_path / "home") == own  # another run of the demo keeps the active line
    own.write_text("lake: {}")
    with pytest.raises(ValueError, match="remove the file"):
        activate(own, operation)


def test_a_key_cannot_get_two_contents_in_a_wave(tmp_path: Path) -> None:
    does = Operations(tmp_path)
    does.put("weather/a.json", b"1", "export")
    does.put("weather/a.json", b"1", "same bytes again")
    with pytest.raises(ValueError, match="second content"):
        does.put("weather/a.json", b"2", "overwritten")
    with pytest.raises(ValueError, match="of this wave"):
        does.delete("weather/a.json", "removed")
    does.put("flights/a.parquet", b"1", "export")
    does.wave = 2
    does.put("weather/a.json", b"2", "overwritten")
    with pytest.raises(ValueError, match="second content"):
        does.put("flights/a.parquet", b"2", "overwritten")


def test_the_producers_know_nothing_of_tidegate() -> None:
    names = ("source", "operations", "flights_export", "weather_service", "analysts")
    own = {f"tidegate.platform.demo.{name}" for name in names}
    for name in ("producers", *names):
        ours = {module for module in imports(name) if module.startswith("tidegate")}
        assert ours <= own, f"{name} imports {ours - own}"


def test_the_oracle_imports_nothing_of_tidegate() -> None:
    assert not {module for module in imports("oracle") if module.startswith((".", "tidegate"))}


def imports(name: str) -> set[str]:
    tree = ast.parse(Path(str(oracle.__file__)).with_name(f"{name}.py").read_text())
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def test_the_lake_file_is_valid_and_of_these_tables() -> None:
    lake = load_lake(lake_file(), env={"TIDEGATE_QUEUE_URL": "http://127.0.0.1:4566/000000000000/tidegate-events"})
    assert lake.buckets == (BUCKET,) == (oracle.BUCKET,)
    assert {spec.name for spec in lake.tables} == set(oracle.TABLES)
    for spec in lake.tables:
        table = oracle.TABLES[spec.name]
        assert spec.prefix == f"s3://{BUCKET}/{table.prefix}"
        assert (spec.mode == "register") == table.registered
        assert tuple(spec.partition_columns) == table.partitions
        assert not spec.columns or dict(spec.columns) == table.columns
        assert (spec.silver is not None) == table.silver
        if spec.silver:
            assert tuple(spec.silver.keys) == table.keys
            assert (spec.silver.order, spec.silver.delete_when) == (("updated_at",), "deleted")
