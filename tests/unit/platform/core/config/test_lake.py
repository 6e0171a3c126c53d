"""lake.yaml: what it may contain, and the texts of its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.unit.conftest import PAPER
from tidegate.platform.core.bronze.plan import RowsOfObjects
from tidegate.platform.core.config.after_load import move_target, removes_source
from tidegate.platform.core.config.json_schema import schema_text
from tidegate.platform.core.config.lake import CatalogSpec, DiscoverySpec, LakeConfig
from tidegate.platform.core.config.load import LakeConfigError, load_lake
from tidegate.platform.core.config.yaml_document import read_yaml
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.discovery import discovered_table
from tidegate.platform.core.routing.route import table_holding

ROOT = Path(__file__).parents[5]
DATA = Path(__file__).parents[3] / "data"
SMALL = """\
lake: {root: "s3://lake/x"}
queues: [{name: events}]
buckets: [landing]
"""
TABLE = "tables:\n  - name: t\n    prefix: s3://landing/t/\n"
SILVER = TABLE + "    silver:\n      keys: [a]\n      order: b\n"


def load(tmp_path: Path, text: str, **env: str) -> LakeConfig:
    path = tmp_path / "lake.yaml"
    path.write_text(text, encoding="utf-8")
    return load_lake(path, env)


def problems(tmp_path: Path, text: str, **env: str) -> list[str]:
    with pytest.raises(LakeConfigError) as caught:
        load(tmp_path, text, **env)
    lines = str(caught.value).split("\n")
    assert lines == caught.value.problems
    assert all(line.startswith(f"{tmp_path / 'lake.yaml'}:") for line in lines)
    return [line.removeprefix(f"{tmp_path}/") for line in lines]


def test_everything_it_can_say() -> None:
    config = load_lake(DATA / "lake.yaml", {"TIDEGATE_QUEUE_URL": "https://sqs/queue", "WINDOW": "7"})
    assert (config.lake.bucket, config.lake.prefix, config.lake.root) == ("lake", "root/", "s3://lake/root")
    assert [(queue.url, queue.given_name, queue.dlq) for queue in config.queues] == [
        ("https://sqs/queue", None, "events-dlq"),
        (None, "more-events", None),
    ]
    assert config.intake.model_dump() == {"by": "processes", "seconds": 5.0, "events": 100, "threads": 2, "every": 1}
    assert (config.discovery, config.window, config.max_files) == (None, 7, 500)
    flights, weather = config.tables
    assert (flights.format, flights.mode, flights.window, flights.max_files) == (
        "parquet",
        "register",
        5,
        100,
    )
    assert flights.partition_columns == {"month": "int", "on": "int"}
    assert flights.columns == {"temp": "double"}
    assert flights.owners == ("team:data", "a@example.org")
    assert flights.silver is not None
    assert flights.silver.keys == ("year", "flight")
    assert (flights.silver.schedule, flights.silver.every) == ("*/10 * * * *", None)
    assert (weather.window, weather.max_files) == (7, 500)
    assert weather.silver is not None
    assert (weather.silver.every, weather.silver.on_removed, weather.silver.tombstone_days) == (
        10,
        "ignore",
        30,
    )


LISTED = SMALL.replace("[{name: events}]", "[]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "queues: it is empty, so only listings of tables find files: add `tables`, or a queue"),
        (
            TABLE + "    reconcile_interval: 60\n  - name: u\n    prefix: s3://landing/u/\n",
            "queues: it is empty, so only listings find files, and nothing lists table u: give it a "
            "`reconcile_interval`, or give the lake one, in seconds, or add a queue",
        ),
        (
            "reconcile_interval: 60\nroutes: [{name: a, topic: 'arn:aws:sns:eu-west-1:123456789012:t'}]\n" + TABLE,
            "routes: they forward events, and `queues` is empty, so none come: add the queue, or remove `routes`",
        ),
    ],
)
def test_a_lake_without_a_queue_lists_all_its_tables(tmp_path: Path, text: str, expected: str) -> None:
    found = problems(tmp_path, LISTED + text)
    assert [line.split(": ", 1)[1] for line in found] == [expected]


def test_a_table_without_a_queue_of_events_is_listed_or_has_rows(tmp_path: Path) -> None:
    rows = "  - name: clicks\n    row_queue: {name: clicks}\n"
    assert load(tmp_path, LISTED + "reconcile_interval: 60\n" + TABLE).queues == ()
    config = load(tmp_path, LISTED + TABLE + "    reconcile_interval: 3600\n" + rows)
    assert [queue.name for queue in config.every_queue] == ["clicks"]


def test_defaults(tmp_path: Path) -> None:
    config = load(tmp_path, SMALL + TABLE)
    assert config.intake.model_dump() == {
        "by": "sensor",
        "seconds": 20.0,
        "events": 20_000,
        "threads": 4,
        "every": 30,
    }
    assert (config.discovery, config.window, config.max_files) == (DiscoverySpec(per_day=100), 60, 10_000)
    (table,) = config.tables
    assert (table.format, table.mode, table.window, table.max_files) == (None, None, 60, 10_000)
    assert (table.silver, table.owners, table.description) == (None, (), None)


def test_tables_by_key(tmp_path: Path) -> None:
    config = load(tmp_path, SMALL + TABLE)
    key = TableKey("landing", "t/")
    assert config.tables[0].table_key == key
    assert config.keys() == {key: config.tables[0]}
    assert config.table_for(key) is config.tables[0]
    assert config.table_for(TableKey("landing", "u/")) is None
    assert table_holding("landing", "t/a/b.csv", config) is config.tables[0]
    assert table_holding("landing", "tt/a.csv", config) is None
    assert table_holding("other", "t/a.csv", config) is None


def test_settings_are_the_table_s_or_the_lake_s(tmp_path: Path) -> None:
    config = load(tmp_path, SMALL + "window: 9\n" + TABLE + "    window: 7\n    max_files: 3\n")
    own, default = config.settings(TableKey("landing", "t/")), config.settings(TableKey("landing", "u/"))
    assert (own.window, own.max_files) == (7, 3)
    assert (default.window, default.max_files) == (9, 10_000)


@pytest.mark.parametrize(("format", "mode"), [("parquet", "register"), ("csv", "load"), ("json", "load")])
def test_format_and_mode_by_default(tmp_path: Path, format: str, mode: str) -> None:
    config = load(tmp_path, SMALL + TABLE)
    resolved = config.tables[0].resolve_format(format)  # type: ignore[arg-type]
    assert (resolved.format, resolved.mode) == (format, mode)
    discovered = discovered_table(TableKey("landing", "a-b/"), format, config)  # type: ignore[arg-type]
    assert (discovered.format, discovered.mode) == (format, "load")
    registers = load(tmp_path, SMALL + "discovery: {parquet: register}\n")
    assert discovered_table(TableKey("landing", "a-b/"), format, registers).mode == mode  # type: ignore[arg-type]
    assert discovered.table_key == TableKey("landing", "a-b/")
    assert discovered.name == TableKey("landing", "a-b/").sql_name


def test_what_is_configured_stays(tmp_path: Path) -> None:
    table = load(tmp_path, SMALL + TABLE + "    format: parquet\n    mode: load\n").tables[0]
    assert (table.resolve_format("csv").format, table.resolve_format("csv").mode) == ("parquet", "load")


def test_the_config_is_frozen(tmp_path: Path) -> None:
    config = load(tmp_path, SMALL)
    with pytest.raises(ValueError, match="frozen"):
        config.discovery = False  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["lake.yaml:1: the file is empty; docs/reference/lake-yaml.md shows a lake.yaml"]),
        ("lake: [", ["lake.yaml:1: not valid YAML: "]),
        ("a: 1\n b: 2\n", ["lake.yaml:2: not valid YAML: mapping values are not allowed here"]),
        ("- 1\n", ["lake.yaml:1: must be a mapping of fields: lake, queues, buckets"]),
        ("a: {b: ${C}}\n", ["lake.yaml:1: not valid YAML: …; within [ ] and { } put a text with one of"]),
        ("a:\n\tb: 1\n", ["lake.yaml:2: not valid YAML: …; indent with blanks, not with tabs"]),
        ("a: %b\n", ["lake.yaml:1: not valid YAML: …; put the text in quotes"]),
        ("a: b: c\n", ["lake.yaml:1: not valid YAML: …; correct the indentation of this line, or put a text with"]),
        ("a:\n  - b: 1\n   c: 2\n", ["lake.yaml:3: not valid YAML: …; correct the indentation of this line: fields"]),
        (
            SMALL + "tables:\n- name: t\n  prefix: s3://landing/t/\n  silver:\n  keys: [id]\n",
            [
                "lake.yaml:7: tables[0].silver: is empty; give it fields",
                "lake.yaml:8: tables[0].keys: unknown field; 'keys' is a field of `silver`: indent it below `silver:`",
            ],
        ),
        (
            SMALL + "intake: {buckets: [a]}\n",
            ["lake.yaml:4: intake.buckets: unknown field; 'buckets' is a field of the whole file: write it without"],
        ),
        ("\x00", ["lake.yaml:1: not valid YAML: unacceptable character"]),
        (
            SMALL + "a: &x [*x]\n",
            ["lake.yaml:4: a: unknown field", "lake.yaml:4: a[0]: an alias that contains itself"],
        ),
        (SMALL + "intake: !!python/name:os 1\n", ["lake.yaml:4: intake: '1' is not valid: "]),
        (SMALL + "? [a]\n: 1\n", ["lake.yaml:4: a key must be plain text"]),
        (SMALL + "window: 1\n\nwindow: 2\n", ["lake.yaml:6: window: given twice, first in line 4"]),
        (SMALL + "windw: 1\n", ["lake.yaml:4: windw: unknown field; did you mean 'window'?"]),
        (
            SMALL + "intake: {thread: 1}\n",
            ["lake.yaml:4: intake.thread: unknown field; did you mean 'threads'?"],
        ),
        (SMALL + "zzz: 1\n", ["lake.yaml:4: zzz: unknown field; known here: lake, queues, buckets"]),
        (SMALL + "shema: strict\n", ["lake.yaml:4: shema: unknown field; did you mean 'schema'?"]),
        (
            SMALL + "tables:\n  - name: t\n    prefix: s3://landing/t/\n    columns: {x: decimal(50,2)}\n",
            [
                "lake.yaml:7: tables[0].columns.2): is the rest of a type that YAML cuts at its comma; put the type in",
                "lake.yaml:7: tables[0].columns.x: 'decimal(50' is not a type",
            ],
        ),
        (SMALL + "intake:\n", ["lake.yaml:4: intake: is empty; give it a value or remove it"]),
        (SMALL + "costs:\n", ["lake.yaml:4: costs: is empty; give it fields, or {} for their defaults, or remove it"]),
        (
            SMALL + "tables:\n- name: t\n  prefix: s3://landing/t/\n  silver:\n",
            ["lake.yaml:7: tables[0].silver: is empty; give it fields"],
        ),
        (SMALL + "intake: 5\n", ["lake.yaml:4: intake: must be a mapping of fields"]),
        (SMALL + "window: -1\n", ["lake.yaml:4: window: input should be greater than or equal to 0"]),
        (
            SMALL + "max_files: 10001\n",
            ["lake.yaml:4: max_files: input should be less than or equal to 10000"],
        ),
        (SMALL + "max_files: 0\n", ["lake.yaml:4: max_files: input should be greater than or equal to 1"]),
        (
            SMALL + "discovery: maybe\n",
            ["lake.yaml:4: discovery: must be true, false, or a mapping with per_day or parquet"],
        ),
        (SMALL + "discovery:\n", ["lake.yaml:4: discovery: must be true, false, or a mapping with per_day or parquet"]),
        (
            SMALL + "discovery: {per_day: 0}\n",
            ["lake.yaml:4: discovery.per_day: input should be greater than or equal to 1"],
        ),
        (SMALL + "discovery: {perday: 9}\n", ["lake.yaml:4: discovery.perday: unknown field; did you mean 'per_day'?"]),
        (
            "lake: {}\nbuckets: [b]\n",
            [
                "lake.yaml:1: buckets[0]: 'b' is not a bucket name",
                "lake.yaml:1: lake.root: is missing",
                "lake.yaml:1: queues: is missing",
            ],
        ),
    ],
)
def test_problems_of_the_document(tmp_path: Path, text: str, expected: list[str]) -> None:
    found = problems(tmp_path, text)
    assert len(found) == len(expected), found
    for line in expected:
        assert any(_same_but_line(problem, line) for problem in found), found


def _same_but_line(problem: str, line: str) -> bool:
    """Return whether a problem begins with a line. Instead of `…` the problem may have any words."""
    beginning, left_out, end = line.partition("…; ")
    if left_out:
        return problem.startswith(beginning) and f"; {end}" in problem
    return problem.startswith(line) or problem.split(": ", 1)[1].startswith(line.split(": ", 1)[1])


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("name: T", "name: use lower-case letters"),
        ("name: 1t", "name: use lower-case letters"),
        ("name: a-b", "name: use lower-case letters"),
        ("name: select", "name: 'select' is a word of SQL or Python"),
        ("name: lambda", "name: 'lambda' is a word of SQL or Python"),
        ("name: on", "name: must be text, and YAML reads this as True; put it in quotes"),
        ("prefix: s3://landing/t", "prefix: the table prefix 't' must end with \"/\""),
        ("prefix: landing/t/", "prefix: 'landing/t/' is not of the form s3://bucket/key"),
        ("prefix: s3://landing/_t/", "prefix: no file below it would be taken"),
        ("prefix: s3://other/t/", "prefix: the bucket 'other' is not in `buckets`; add it there"),
        ("prefix: s3://landing/" + "ü" * 100 + "/", "prefix: its table key has more than 512 characters"),
        ("format: xml", "format: input should be 'parquet', 'csv', 'json', 'text', 'orc' or 'avro'"),
        ("columns: {a: ''}", "columns.a: string should have at least 1 character"),
        ("columns: [a]", "columns: must be a mapping"),
        ("columns: {a: strin}", "columns.a: 'strin' is not a type of Spark SQL"),
        (
            "columns: {a: array<strin>}",
            "columns.a: 'array<strin>' is not a type of Spark SQL: a nested one is array<…>",
        ),
        ("columns: {a: map<string>}", "columns.a: 'map<string>' is not a type of Spark SQL: a nested one is array<…>"),
        ("partition_columns: {a: integr}", "partition_columns.a: 'integr' is not a simple SQL type; known are bigint"),
        ("partition_columns: {a: array<int>}", "partition_columns.a: 'array<int>' is not a simple SQL type"),
        ("window: soon", "window: input should be a valid integer"),
        ("owners: [data]", "owners[0]: 'data' is neither team:<name> nor an email address"),
        ("owners: data", "owners: must be a list"),
        ("silver: {}", "silver.keys: is missing"),
    ],
)
def test_problems_of_a_table(tmp_path: Path, field: str, expected: str) -> None:
    fields = {"name": "name: t", "prefix": "prefix: s3://landing/t/"} | {field.split(":")[0]: field}
    text = SMALL + "tables:\n  - " + "\n    ".join(fields.values()) + "\n"
    line = 5 + list(fields).index(field.split(":")[0])
    assert f"lake.yaml:{line}: tables[0].{expected}" in "\n".join(problems(tmp_path, text))


@pytest.mark.parametrize(
    "kind",
    [
        "decimal(10,2)",
        "array<string>",
        "map<string, array<int>>",
        "struct<a: int, b: map<string,date>>",
        "long",
        "VARIANT",
    ],
)
def test_columns_take_every_type(tmp_path: Path, kind: str) -> None:
    config = load(tmp_path, SMALL + TABLE + f"    columns: {{a: '{kind}'}}\n")
    assert config.tables[0].columns == {"a": kind}


def test_new_columns_are_taken_unless_the_table_or_the_lake_is_strict(tmp_path: Path) -> None:
    assert load(tmp_path, SMALL + TABLE).tables[0].policy == "evolve"
    assert load(tmp_path, SMALL + TABLE + "    schema: strict\n").tables[0].policy == "strict"
    strict = load(tmp_path, "schema: strict\n" + SMALL + TABLE)
    assert strict.tables[0].policy == "strict"
    assert discovered_table(TableKey("landing", "x/"), "csv", strict).policy == "strict"
    assert load(tmp_path, "schema: strict\n" + SMALL + TABLE + "    schema: evolve\n").tables[0].policy == "evolve"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("    schema: variant\n", "5: tables[0]: `schema: variant` needs `format: json`"),
        (
            "    schema: variant\n    format: csv\n",
            "8: tables[0].format: `schema: variant` is for JSON: use `format: json`",
        ),
        (
            "    schema: variant\n    format: parquet\n    mode: register\n",
            "8: tables[0].format: `schema: variant` is for",
        ),
        ("    schema: variant\n    format: json\n    mode: register\n", "9: tables[0].mode: only parquet files can be"),
        (
            "    schema: variant\n    format: json\n    columns: {id: int, Data: string}\n",
            "9: tables[0].columns: Data is the column that has the whole objects (`schema: variant`); remove it here",
        ),
        (
            "    schema: variant\n    format: json\n    partition_columns: {data: date}\n",
            "9: tables[0].partition_columns: data is the column that has the whole objects",
        ),
        (
            "    schema: variant\n    format: json\n    columns: {a: int}\n"
            "    silver: {keys: [a], order: b, every: 9}\n",
            "10: tables[0].silver: b is only in the objects (`schema: variant`), and silver needs it",
        ),
    ],
)
def test_whole_objects_are_for_json_and_silver_needs_columns(tmp_path: Path, fields: str, expected: str) -> None:
    (problem,) = problems(tmp_path, SMALL + TABLE + fields)
    assert problem.startswith(f"lake.yaml:{expected}"), problem


def test_a_lake_does_not_make_whole_objects_of_all_tables(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "schema: variant\n" + SMALL)
    assert problem.startswith("lake.yaml:1: schema: "), problem
    rows = SMALL + "tables:\n  - name: clicks\n    row_queue: {name: clicks}\n    schema: variant\n"
    columns = "    silver: {keys: [_message_id], order: _sent_at, every: 9}\n"
    assert load(tmp_path, rows + columns).tables[0].policy == "variant"
    made = "derive: {id: 'CAST(data:id AS INT)'}", "rename: {number: id}"
    for option in made:
        columns = f"    columns: {{number: int}}\n    silver: {{keys: [id], order: _batch, every: 9, {option}}}\n"
        assert load(tmp_path, SMALL + TABLE + "    format: json\n    schema: variant\n" + columns).tables[0].silver
        (problem,) = problems(tmp_path, SMALL + TABLE + "    schema: variant\n" + columns.replace("_batch", "id"))
        assert "id is only in the objects" in problem
    columns = "    columns: {id: int}\n    silver: {keys: [ID], order: _batch, every: 9}\n"
    assert load(tmp_path, SMALL + TABLE + "    format: json\n    schema: variant\n" + columns).tables[0].silver


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("    schema: rescue\n", "5: tables[0]: `schema: rescue` needs `format: json` or `format: csv`"),
        ("    schema: rescue\n    format: orc\n", "8: tables[0].format: `schema: rescue` is for JSON and CSV"),
        (
            "    schema: rescue\n    format: parquet\n    mode: load\n",
            "8: tables[0].format: `schema: rescue` is for JSON and CSV: use `format: json` or `format: csv`",
        ),
        (
            "    schema: rescue\n    format: csv\n    columns: {_Rescued_data: string}\n",
            "9: tables[0].columns: _Rescued_data is the column that `schema: rescue` adds; remove it here",
        ),
        (
            "    schema: rescue\n    format: csv\n    partition_columns: {_rescued_data: date}\n",
            "9: tables[0].partition_columns: _rescued_data is the column that",
        ),
    ],
)
def test_rescue_is_for_rows_of_text(tmp_path: Path, fields: str, expected: str) -> None:
    (problem,) = problems(tmp_path, SMALL + TABLE + fields)
    assert problem.startswith(f"lake.yaml:{expected}"), problem
    (problem,) = problems(tmp_path, "schema: rescue\n" + SMALL)
    assert problem.startswith("lake.yaml:1: schema: "), problem
    rows = SMALL + "tables:\n  - name: clicks\n    row_queue: {name: clicks}\n    schema: rescue\n"
    assert load(tmp_path, rows).tables[0].policy == "rescue"
    assert load(tmp_path, SMALL + TABLE + "    format: csv\n    schema: rescue\n").tables[0].policy == "rescue"
    plain = "    columns: {_rescued_data: string}\n"
    assert load(tmp_path, SMALL + TABLE + plain).tables[0].columns == {"_rescued_data": "string"}


@pytest.mark.parametrize("format", ["csv", "json"])
@pytest.mark.limit(
    "Columns and types",
    "A column keeps the type that its first files gave it. `widen` makes it wider for Parquet, ORC and Avro "
    "only, not for CSV, JSON and row queues.",
)
def test_only_files_that_declare_types_make_columns_wider(tmp_path: Path, format: str) -> None:
    (problem,) = problems(tmp_path, SMALL + TABLE + f"    format: {format}\n    widen: true\n")
    assert problem.startswith("lake.yaml:8: tables[0].widen: only files that declare the types"), problem
    rows = SMALL + "tables:\n  - name: clicks\n    row_queue: {name: clicks}\n    widen: true\n"
    assert "tables[0].widen: only files that declare" in problems(tmp_path, rows)[0]
    assert load(tmp_path, SMALL + TABLE + "    widen: true\n").tables[0].widen
    assert not load(tmp_path, SMALL + TABLE + f"    format: {format}\n    widen: false\n").tables[0].widen


def test_csv_options(tmp_path: Path) -> None:
    written = (
        "{delimiter: ';', encoding: windows-1252, decimal: ',', nulls: [NA], header: false, comment: '#', skip: 2}"
    )
    options = load(tmp_path, SMALL + TABLE + f"    csv: {written}\n").tables[0].csv
    assert (options.delimiter, options.encoding, options.decimal, options.nulls) == (";", "cp1252", ",", ("NA",))
    assert (options.quote, options.header, options.comment, options.skip) == ('"', False, "#", 2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("{delimiter: ';;'}", "csv.delimiter: "),
        ("{encoding: klingon}", "csv.encoding: 'klingon' is not an encoding, such as utf-8, windows-1252 or utf-16"),
        ("{decimal: ';'}", "csv.decimal: "),
        ("{seperator: ';'}", "csv.seperator: "),
    ],
)
def test_problems_of_csv_options(tmp_path: Path, options: str, expected: str) -> None:
    (problem,) = problems(tmp_path, SMALL + TABLE + f"    csv: {options}\n")
    assert problem.startswith(f"lake.yaml:7: tables[0].{expected}"), problem


@pytest.mark.parametrize("format", ["csv", "json"])
@pytest.mark.limit("Tables", "Only Parquet files are registered where they are. Other formats are loaded.")
def test_register_needs_parquet(tmp_path: Path, format: str) -> None:
    (problem,) = problems(tmp_path, SMALL + TABLE + f"    format: {format}\n    mode: register\n")
    assert problem.startswith(f"lake.yaml:8: tables[0].mode: only parquet files can be registered, {format} files")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", "lake.yaml:7: tables[0].silver: give exactly one of schedule"),
        (
            "      every: 1\n      schedule: '* * * * *'\n",
            "lake.yaml:7: tables[0].silver: give exactly one of schedule",
        ),
        (
            "      every: 0\n",
            "lake.yaml:10: tables[0].silver.every: input should be greater than or equal to 1",
        ),
        ("      every: 1\n      tombstone_days: 0\n", "lake.yaml:11: tables[0].silver.tombstone_days: "),
        (
            "      every: 1\n      on_removed: drop\n",
            "lake.yaml:11: tables[0].silver.on_removed: input should be",
        ),
        (
            "      every: 1\n      delete_when: op = \n",
            "lake.yaml:11: tables[0].silver.delete_when: 'op =' is not a condition of Spark SQL",
        ),
        (
            "      every: 1\n      delete_when: gone; drop table x\n",
            "lake.yaml:11: tables[0].silver.delete_when: 'gone; drop table x' is not a condition of Spark SQL",
        ),
        (
            "      every: 1\n      stored_as: scd2\n      tombstone_days: 9\n",
            "lake.yaml:7: tables[0].silver: tombstone_days has no effect with stored_as: scd2",
        ),
        (
            "      every: 1\n      from: snapshots\n      ignore_null_updates: true\n",
            "lake.yaml:7: tables[0].silver: a dump has all rows with all values, so ignore_null_updates has no effect",
        ),
        (
            "      every: 1\n      rename: {x: y, z: Y}\n",
            "lake.yaml:11: tables[0].silver.rename: Y, y is named twice",
        ),
        (
            "      every: 1\n      rename: {a: b2}\n",
            "lake.yaml:7: tables[0].silver: keys names a, which `rename` calls b2: use that name",
        ),
        (
            "      every: 1\n      rename: {x: y}\n      derive: {Y: z + 1}\n",
            "lake.yaml:7: tables[0].silver: y is in rename and in derive",
        ),
        (
            "      every: 1\n      derive: {y: z +}\n",
            "lake.yaml:11: tables[0].silver.derive.y: ",
        ),
        (
            "      every: 1\n      cast: {y: number}\n",
            "lake.yaml:11: tables[0].silver.cast.y: ",
        ),
        (
            "      every: 1\n      track_history_columns: [b]\n",
            "lake.yaml:7: tables[0].silver: track_history_columns is for a history: give stored_as: scd2",
        ),
        (
            "      every: 1\n      stored_as: scd2\n      track_history_columns: [b]\n"
            "      track_history_except_columns: [c]\n",
            "lake.yaml:7: tables[0].silver: give one of track_history_columns and track_history_except_columns",
        ),
    ],
)
def test_problems_of_silver(tmp_path: Path, more: str, expected: str) -> None:
    (problem,) = problems(tmp_path, SMALL + SILVER + more)
    assert problem.startswith(expected)


def test_a_column_is_called_what_is_written_though_yaml_reads_a_truth(tmp_path: Path) -> None:
    given = "    columns: {no: bigint, On: string, 1: date, null: int}\n    partition_columns: {yes: int}\n"
    (table,) = load(tmp_path, SMALL + TABLE + given).tables
    assert list(table.columns) == ["no", "On", "1", "null"]
    assert list(table.partition_columns) == ["yes"]
    (problem,) = problems(tmp_path, SMALL + TABLE + "    columns: {a: no}\n")
    assert problem.endswith("tables[0].columns.a: must be text, and YAML reads this as False; put it in quotes")


@pytest.mark.parametrize(
    "condition",
    [
        "gone",
        "op IN ('d', 'D') OR coalesce(gone, false)",
        "m['op'] rlike '^d' -- deleted",
        "not (a <=> b.c)",
        "x::boolean",
    ],
)
def test_conditions(tmp_path: Path, condition: str) -> None:
    config = load(tmp_path, SMALL + SILVER + f'      every: 1\n      delete_when: "{condition}"\n')
    assert config.tables[0].silver is not None
    assert config.tables[0].silver.delete_when == condition


def test_keys_and_order_of_silver_are_columns_fields_or_expressions(tmp_path: Path) -> None:
    def text(keys: str, order: str) -> str:
        return SMALL + TABLE + f"    silver:\n      keys: {keys}\n      order: {order}\n      every: 9\n"

    silver = load(tmp_path, text('[a, b.c, "lower(d)", order id, a-b]', "[source.lsn, at]")).tables[0].silver
    assert silver is not None
    assert (silver.keys, silver.order) == (("a", "b.c", "lower(d)", "order id", "a-b"), ("source.lsn", "at"))
    assert (silver.keeps_keys, silver.keeps_order) == (True, False)
    silver = load(tmp_path, text("[a]", "coalesce(b, c) -- newest")).tables[0].silver
    assert silver is not None
    assert (silver.order, silver.keeps_keys, silver.keeps_order) == (("coalesce(b, c) -- newest",), False, True)
    for keys, order, problem in (
        ('["lower(d"]', "b", "8: tables[0].silver.keys[0]: 'lower(d' is not an expression of Spark SQL, such as"),
        ("[a]", '"(b"', "9: tables[0].silver.order[0]: '(b' is not an expression of Spark SQL, such as"),
        ("[a]", "[b, B]", "9: tables[0].silver.order: B, b is named twice"),
        ("[a]", "[]", "9: tables[0].silver.order: is missing and has no default"),
    ):
        (found,) = problems(tmp_path, text(keys, order))
        assert found.startswith(f"lake.yaml:{problem}")


def test_silver_keys(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, SMALL + SILVER.replace("[a]", "[]") + "      every: 1\n")
    assert problem == "lake.yaml:8: tables[0].silver.keys: needs at least one entry"
    (problem,) = problems(tmp_path, SMALL + SILVER.replace("[a]", "[a, A]") + "      every: 1\n")
    assert problem == "lake.yaml:8: tables[0].silver.keys: A, a is named twice"


@pytest.mark.parametrize("cron", ["* * * * *", "*/10 0-6/2 1,15 JAN-mar mon", "0 0 31 12 7", "5  4 * * sun"])
def test_cron_schedules(tmp_path: Path, cron: str) -> None:
    assert load(tmp_path, SMALL + SILVER + f'      schedule: "{cron}"\n').tables[0].silver


@pytest.mark.parametrize(
    ("cron", "reason"),
    [
        ("* * * *", "has 4 fields"),
        ("* * * * * *", "has 6 fields"),
        ("@daily", "has 1 fields"),
        ("60 * * * *", "not a valid minute"),
        ("* 24 * * *", "not a valid hour"),
        ("* * 0 * *", "not a valid day of month"),
        ("* * * 13 *", "not a valid month"),
        ("* * * * 8", "not a valid day of week"),
        ("*/0 * * * *", "not a valid minute"),
        ("1- * * * *", "not a valid minute"),
        ("1,, * * * *", "not a valid minute"),
        ("jan * * * *", "not a valid minute"),
        ("² * * * *", "not a valid minute"),
    ],
)
def test_what_is_not_a_cron_schedule(tmp_path: Path, cron: str, reason: str) -> None:
    (problem,) = problems(tmp_path, SMALL + SILVER + f'      schedule: "{cron}"\n')
    assert problem.startswith("lake.yaml:10: tables[0].silver.schedule: ")
    assert reason in problem


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        ("{}", "queues[0]: give exactly one of url and name"),
        ("{name: a, url: 'https://q'}", "queues[0]: give exactly one of url and name"),
        ("{url: events}", "queues[0].url: 'events' is not a URL of a queue; `name` takes a queue's name"),
        (
            "{name: 'https://q'}",
            "queues[0].name: 'https://q' is not a name of a queue; `url` takes a queue's URL",
        ),
    ],
)
def test_problems_of_a_queue(tmp_path: Path, queue: str, expected: str) -> None:
    (problem,) = problems(tmp_path, SMALL.replace("{name: events}", queue))
    assert problem == f"lake.yaml:2: {expected}"


@pytest.mark.limit("Tables", "The lake root is in a bucket that is not a source bucket.")
def test_the_lake_root_never_notifies_itself(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, SMALL.replace("s3://lake/x", "s3://landing/lake"))
    assert problem.startswith("lake.yaml:1: lake.root: the bucket 'landing' is also a source bucket")
    assert "put the lake in a bucket of its own" in problem


@pytest.mark.parametrize("prefix", ["s3://landing/t/u/", "s3://landing/", "s3://landing/t/"])
@pytest.mark.limit("Tables", "The prefixes of two tables never overlap.")
def test_prefixes_never_overlap(tmp_path: Path, prefix: str) -> None:
    (problem,) = problems(tmp_path, SMALL + TABLE + f"  - name: u\n    prefix: {prefix}\n")
    assert problem.startswith(f"lake.yaml:8: tables[1].prefix: {prefix} overlaps s3://landing/t/ of tables[0]")
    assert problem.endswith("table prefixes never overlap; see line 6")


def test_prefixes_that_only_begin_alike_do_not_overlap(tmp_path: Path) -> None:
    load(tmp_path, SMALL + TABLE + "  - name: u\n    prefix: s3://landing/tt/\n")


@pytest.mark.parametrize(
    ("more", "line", "expected"),
    [
        ("after_load: delet", 9, "tables[0].after_load: input should be 'keep' or 'delete'"),
        ("after_load: {mov: s3://xyz/y/}", 9, "tables[0].after_load.mov: unknown field; did you mean 'move'?"),
        ("after_load: {}", 9, "tables[0].after_load: give exactly one of move (s3://bucket/folder/) and tag"),
        ("after_load: {move: s3://xyz/y}", 9, "tables[0].after_load.move: 's3://xyz/y' is not a folder"),
        ("after_load: {tag: {a: 1}}", 9, "tables[0].after_load.tag.a: must be text, and YAML reads this as 1"),
        ("after_load: {move: s3://landing/t/done/}", 9, "overlaps s3://landing/t/ of tables[0], which would take"),
        ("after_load: {move: s3://landing/}", 9, "tables[0].after_load.move: 's3://landing/' is not a folder"),
        ("after_load: {move: s3://lake/x/done/}", 9, "overlaps the lake root s3://lake/x; move to a folder outside it"),
        (
            "after_load: delete\n    silver: {keys: [a], order: b, every: 9, on_removed: full}",
            5,
            "silver's `on_removed: full` would remove the rows of files that are gone",
        ),
    ],
)
def test_problems_of_after_load(tmp_path: Path, more: str, line: int, expected: str) -> None:
    (problem,) = problems(tmp_path, f"{SMALL}{TABLE}    format: csv\n    mode: load\n    {more}\n")
    assert problem.startswith(f"lake.yaml:{line}: tables[0]")
    assert expected in problem


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("completion: _SUCCESS", "tables[0].completion: it needs `format`"),
        ("format: json\n    completion: '*.json'", "'*.json' would match the files of the table"),
        ("format: json\n    completion: a/_SUCCESS", "'a/_SUCCESS' is not a name of a file"),
    ],
)
def test_problems_of_completion(tmp_path: Path, more: str, expected: str) -> None:
    (problem,) = problems(tmp_path, f"{SMALL}{TABLE}    {more}\n")
    assert expected in problem


@pytest.mark.parametrize("folder", ["s3://old/a/", "s3://old/a/b/"])
def test_two_tables_do_not_move_their_files_into_one_folder(tmp_path: Path, folder: str) -> None:
    """Two files of the same name would overwrite each other there."""
    first = f"{SMALL}{TABLE}    format: csv\n    mode: load\n    after_load: {{move: s3://old/a/}}\n"
    second = "  - {name: u, prefix: s3://landing/u/, format: csv, after_load: {move: "
    (problem,) = problems(tmp_path, f"{first}{second}{folder}}}}}\n")
    assert problem.startswith(
        f"lake.yaml:10: tables[1].after_load.move: {folder} overlaps s3://old/a/, where the files"
    )
    load(tmp_path, f"{first}{second}s3://old/ab/}}}}\n")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("format: parquet", "a registered table reads its files where they are"),
        ("mode: register", "a registered table reads its files where they are"),
        ("window: 1", "after_load needs `mode: load`"),
    ],
)
def test_after_load_is_for_loaded_tables(tmp_path: Path, mode: str, expected: str) -> None:
    (problem,) = problems(tmp_path, f"{SMALL}{TABLE}    {mode}\n    after_load: delete\n")
    assert expected in problem


FEED = "\n    silver: {from: dms, keys: [a], order: b, every: 9}"
LOADED = "mode: load\n    format: csv"


@pytest.mark.limit(
    "Tables",
    "Rows follow files that are overwritten (`on_overwrite: replace`) or removed (`on_removed: delete`) only in loaded "
    "tables without `completion`, `cluster_by`, `row_queue`, and silver of feeds, dumps or histories.",
)
@pytest.mark.parametrize("option", ["on_overwrite: replace", "on_removed: delete"])
@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("format: parquet", "is for loaded tables: a registered table reads its files where they are"),
        ("mode: register", "is for loaded tables: a registered table reads its files where they are"),
        ("window: 1", "needs `mode: load`"),
        ("format: json\n    completion: _SUCCESS", "the files of a dataset enter together"),
        (f"{LOADED}\n    cluster_by: [a]", "`cluster_by` spreads these rows over most data files"),
        (LOADED + FEED, "cannot be followed by silver: `from: dms` reads a feed"),
        (LOADED + FEED.replace("from: dms", "from: debezium"), "`from: debezium` reads a feed"),
        (LOADED + FEED.replace("from: dms", "from: snapshots"), "`from: snapshots` reads a feed"),
        (LOADED + FEED.replace("from: dms", "stored_as: scd2"), "would change the past"),
        (LOADED + FEED.replace("from: dms", "apply_as_truncates: c"), "would give them back"),
        (LOADED + FEED.replace("from: dms", "ignore_null_updates: true"), "lost with the row that brought it"),
        (
            "mode: repartition\n    format: json\n    output: {folder: s3://out/a/}",
            "is about the rows of a table, and there is no table with `mode: repartition`",
        ),
        ("mode: inventory", "is about files alone"),
    ],
)
def test_tables_that_cannot_follow_their_files_are_refused_with_the_reason(
    tmp_path: Path, table: str, expected: str, option: str
) -> None:
    (problem,) = problems(tmp_path, f"{SMALL}{TABLE}    {option}\n    {table}\n")
    assert problem.startswith("lake.yaml:")
    assert expected in problem
    assert option.split(":")[0] in problem


def test_files_that_after_load_removes_do_not_take_their_rows_with_them(tmp_path: Path) -> None:
    text = f"{SMALL}{TABLE}    {LOADED}\n    on_removed: delete\n    after_load: "
    (problem,) = problems(tmp_path, f"{text}delete\n")
    assert "lake.yaml:9: tables[0].on_removed: after_load removes files whose rows should stay" in problem
    assert load(tmp_path, f"{text}{{tag: {{a: b}}}}\n").tables[0].rows_of_objects.removed


@pytest.mark.parametrize("more", ["", "\n    silver: {keys: [a], order: b, every: 9, apply_as_deletes: c}"])
def test_rows_stay_unless_lake_yaml_asks_otherwise(tmp_path: Path, more: str) -> None:
    text = f"{SMALL}{TABLE}    {LOADED}{more}\n"
    assert load(tmp_path, text).tables[0].rows_of_objects == RowsOfObjects(replaced=False, removed=False)
    text += "    on_overwrite: replace\n    on_removed: delete\n"
    assert load(tmp_path, text).tables[0].rows_of_objects == RowsOfObjects(replaced=True, removed=True)


def test_after_load_says_what_becomes_of_files(tmp_path: Path) -> None:
    assert load(tmp_path, SMALL + TABLE).tables[0].after_load == "keep"
    text = f"{SMALL}{TABLE}    mode: load\n    after_load: "
    for after_load, away, folder in [
        ("keep", False, None),
        ("delete", True, None),
        ("{move: s3://landing/done/}", True, "s3://landing/done/"),
        ("{tag: {tidegate: loaded}}", False, None),
    ]:
        spec = load(tmp_path, f"{text}{after_load}\n").tables[0]
        assert (removes_source(spec.after_load), move_target(spec.after_load)) == (away, folder)


def test_names_are_unique(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, SMALL + TABLE + "  - name: t\n    prefix: s3://landing/u/\n")
    assert problem == "lake.yaml:7: tables[1].name: 't' is also the name of tables[0]; names are unique; see line 5"


def test_all_problems_at_once() -> None:
    path = DATA / "lake_all_wrong.yaml"
    with pytest.raises(LakeConfigError) as caught:
        load_lake(path, {})
    found = [line.removeprefix(f"{path}:") for line in caught.value.problems]
    assert [line.split(": ")[:2] for line in found] == [
        ["2", "lake.root"],
        ["4", "queues[0].url"],
        ["7", "intake.thread"],
        ["9", "tables[0].name"],
        ["12", "tables[0].mode"],
        ["13", "tables[0].windoww"],
        ["15", "tables[0].silver.keys"],
        ["16", "tables[0].silver.order"],
        ["20", "tables[1].prefix"],
        ["21", "tables[2].name"],
        ["22", "tables[2].prefix"],
        ["25", "tables[3].prefix"],
        ["27", "tables[4].prefix"],
        ["28", "tables[4].silver.schedule"],
    ]


def test_built_in_code_it_is_checked_too() -> None:
    parts = {"lake": {"root": "s3://landing/x"}, "queues": [{"name": "q"}], "buckets": ["landing"]}
    with pytest.raises(ValueError, match=r"lake\.root: the bucket 'landing' is also a source bucket"):
        LakeConfig.model_validate(parts)


def test_the_file_itself(tmp_path: Path) -> None:
    with pytest.raises(LakeConfigError, match="there is no such file"):
        load_lake(tmp_path / "lake.yaml")
    with pytest.raises(LakeConfigError, match="cannot be read"):
        load_lake(tmp_path)
    (tmp_path / "lake.yaml").write_bytes(b"\xff")
    with pytest.raises(LakeConfigError, match="cannot be read"):
        load_lake(tmp_path / "lake.yaml")


@pytest.mark.parametrize(
    ("queues", "problem"),
    [
        (
            "[{url: https://sqs.eu-central-1.amazonaws.com/1/q}, {url: https://sqs.us-east-1.amazonaws.com/1/q}]",
            "queues[1]: 'q' is also the name of queues[0]; queues differ by name, in all regions; see line 2",
        ),
        ("[{name: q}, {name: q}]", "queues[1]: 'q' is also the name of queues[0]; queues differ by name"),
        ("[{name: q.fifo}]", "queues[0]: a queue of events is a standard queue: the dead letters of a FIFO queue"),
        ("[{name: q, dlq: q}]", "queues[0]: 'q' is the queue itself; `dlq` takes the name of the queue of its dead"),
        ("[{name: q, dlq: 'https://sqs/1/d'}]", "queues[0].dlq: 'https://sqs/1/d' is not a name of a queue"),
        ("[{name: q, dlq: 'arn:aws:sqs:r:1:d'}]", "queues[0].dlq: 'arn:aws:sqs:r:1:d' is not a name of a queue"),
        ("[{name: q, dlq: p}, {name: p}]", "queues[0].dlq: 'p' is a queue of `queues` as well; dead letters need"),
        (
            "[{url: http://a/1/q, dlq: d}, {url: http://b/1/p, dlq: d}]",
            "queues[1].dlq: 'd' is also that of queues[0], which is elsewhere: give them two names; see line 2",
        ),
    ],
)
def test_each_queue_has_a_name_of_its_own(tmp_path: Path, queues: str, problem: str) -> None:
    (found,) = problems(tmp_path, SMALL.replace("[{name: events}]", queues))
    assert found.startswith(f"lake.yaml:2: {problem}")


def test_queues_of_one_place_may_share_their_dead_letters(tmp_path: Path) -> None:
    text = "[{url: http://a/1/q, dlq: d}, {url: http://a/1/p, dlq: d}, {name: o, dlq: d}]"
    assert len(load(tmp_path, SMALL.replace("[{name: events}]", text)).queues) == 3


class TestEnvironment:
    def test_values(self, tmp_path: Path) -> None:
        text = SMALL.replace("x", "${A}/${B:-b}/${C:-}y") + "window: ${W:-3}\ndiscovery: ${D}\n"
        config = load(tmp_path, text, A="a", D="false")
        assert (config.lake.root, config.window, config.discovery) == ("s3://lake/a/b/y", 3, None)

    def test_the_environment_of_the_process(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TIDEGATE_TEST_ROOT", "z")
        (tmp_path / "lake.yaml").write_text(SMALL.replace("x", "${TIDEGATE_TEST_ROOT}"), encoding="utf-8")
        assert load_lake(tmp_path / "lake.yaml").lake.root == "s3://lake/z"

    def test_an_empty_default_is_not_a_value(self, tmp_path: Path) -> None:
        config = load(tmp_path, SMALL.replace("{name: events}", '{name: events, dlq: "${DLQ:-}"}'))
        assert config.queues[0].dlq is None

    @pytest.mark.parametrize("env", [{}, {"Q": ""}])
    def test_an_unset_one_is_named(self, tmp_path: Path, env: dict[str, str]) -> None:
        (problem,) = problems(tmp_path, SMALL.replace("{name: events}", "{url: '${Q}'}"), **env)
        assert problem == (
            "lake.yaml:2: queues[0].url: the environment variable Q is not set; set it, or write ${Q:-default}"
        )

    @pytest.mark.parametrize("text", ["${", "${}", "${1}", "${a b}", "${A"])
    def test_a_broken_one_is_shown(self, tmp_path: Path, text: str) -> None:
        (problem,) = problems(tmp_path, SMALL + TABLE + f"    description: '{text}'\n", A="a")
        assert problem.endswith("is neither ${NAME} nor ${NAME:-default}; a literal ${ is $${")

    def test_comments_and_single_dollars_are_left_alone(self, tmp_path: Path) -> None:
        config = load(tmp_path, SMALL + TABLE + "    description: costs $5, $X\n    # ${NOT_SET}\n")
        assert config.tables[0].description == "costs $5, $X"


@given(st.text(max_size=60) | st.text(alphabet="ab:-[]{}&*!|>'\"\n #$?,%@`", max_size=40))
def test_reading_never_raises(text: str) -> None:
    read_yaml(text, {})


def test_the_published_schema_is_current() -> None:
    published = (ROOT / "docs" / "lake.schema.json").read_text(encoding="utf-8")
    assert published == schema_text(), "run: make schema"


@pytest.mark.parametrize("path", ["lake.yaml", "platform/demo/lake.yaml"])
def test_the_shipped_files_are_valid(path: str) -> None:
    load_lake(ROOT / path, {"TIDEGATE_QUEUE_URL": "https://sqs/queue"})


def test_all_tables_are_registered_unless_some_are_named() -> None:
    every, some = CatalogSpec(bronze="raw"), CatalogSpec(silver="clean", tables=("orders",))
    assert (every.has("items"), some.has("items"), some.has("orders")) == (True, False, True)


@pytest.mark.parametrize(
    ("catalog", "problem"),
    [
        ({}, "give bronze, silver, or both"),
        ({"bronze": "lake", "silver": "lake"}, "their tables have the same names: give them two databases"),
        ({"bronze": "Lake"}, "catalog.bronze"),
        ({"bronze": "raw", "tables": ["other"]}, "there is no table other; correct the name, or leave `tables` out"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(catalog: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        LakeConfig.model_validate({**PAPER, "catalog": catalog})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("    cluster_by: id\n", "5: tables[0]: cluster_by needs `mode: load`: without it, Parquet files would be"),
        ("    format: parquet\n    cluster_by: id\n", "5: tables[0]: cluster_by is for loaded tables: a registered"),
        (
            "    format: csv\n    partition_columns: {day: date}\n    cluster_by: id\n",
            "5: tables[0]: cluster_by and `partition_columns` exclude each other",
        ),
        ("    format: csv\n    cluster_by: [a, A]\n", "8: tables[0].cluster_by: A, a is named twice"),
        ("    format: csv\n    cluster_by: [a, b, c, d, e]\n", "8: tables[0].cluster_by: 5 columns, and Delta"),
        (
            "    format: csv\n    cluster_by: date(at)\n",
            "8: tables[0].cluster_by[0]: 'date(at)' is an expression; name a",
        ),
        (
            "    format: csv\n    cluster_by: [id, mail]\n    personal: {columns: [Mail]}\n",
            "5: tables[0]: cluster_by names mail, which is personal",
        ),
        (
            "    format: csv\n    personal: {columns: [mail]}\n    silver: {keys: [id], order: at, every: 9, "
            "cluster_by: mail}\n",
            "5: tables[0]: `cluster_by` of silver names mail, which is personal",
        ),
        ("    mode: inventory\n    cluster_by: bucket\n", "5: tables[0]: `cluster_by` sorts rows by columns, and the"),
        (
            "    format: csv\n    mode: convert\n    output: {folder: s3://out/a/}\n    cluster_by: id\n",
            "5: tables[0]: `cluster_by` sorts the rows of a table, and there is no table with",
        ),
    ],
)
def test_a_table_that_cannot_be_clustered_says_why(tmp_path: Path, fields: str, expected: str) -> None:
    (problem,) = problems(tmp_path, SMALL + TABLE + fields)
    assert problem.startswith(f"lake.yaml:{expected}"), problem


def test_loaded_tables_and_every_silver_table_may_be_clustered(tmp_path: Path) -> None:
    (table,) = load(tmp_path, SMALL + TABLE + "    mode: load\n    cluster_by: [user.id, at]\n").tables
    assert table.cluster_by == ("user.id", "at")
    rows = SMALL + "tables:\n  - name: clicks\n    row_queue: {name: clicks}\n    cluster_by: id\n"
    assert load(tmp_path, rows).tables[0].cluster_by == ("id",)
    (table,) = load(tmp_path, SMALL + SILVER + "      every: 9\n      cluster_by: a\n").tables
    assert table.silver is not None
    assert (table.cluster_by, table.silver.cluster_by) == (None, ("a",))
