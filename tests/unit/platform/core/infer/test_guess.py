"""What `tidegate infer` concludes from listings and from the first bytes of files."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from pyarrow import orc
from pydantic import TypeAdapter
from rich.console import Console

from tests.support.aws_logs import LOGS
from tidegate.platform.cli.commands.infer import InferAnswer, run_infer
from tidegate.platform.cli.commands.sniffers import sniff_file
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.requirements import WantedResources
from tidegate.platform.core.config.fields import Name
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.files.csv_doubts import header_doubt, text_doubts
from tidegate.platform.core.infer.guess import Entry, guess_tables, render_lake_yaml
from tidegate.platform.core.infer.text_format import (
    FileSample,
    SniffedFile,
    format_of_bytes,
    sniff_csv,
    sniff_json,
    sniff_text,
    unpack_head,
)
from tidegate.platform.core.schema.digits import keeps

#: Files of the same columns, by what their program needs of the options of CSV.
_ROWS = "Orleans,1.50,old\nParis,2.50,new\nLyon,3.50,new\n"
_PROGRAMS = {
    "plain": f"name,price,note\n{_ROWS}".encode(),
    "nothing but letters and whole numbers": b"name,price,note\nOrleans,1,old\nParis,2,new\n",
    "UTF-8": f"name,price,note\n{_ROWS}".replace("e", "é").encode(),
    "windows-1252": f"name,price,note\n{_ROWS}".replace("e", "é").encode("windows-1252"),
    "a semicolon": f"name,price,note\n{_ROWS}".replace(",", ";").encode(),
    "a decimal comma": f"name,price,note\n{_ROWS}".replace(",", ";").replace(".", ",").encode(),
    "no header": b"1,2,3\n4,5,6\n",
    "two lines before the header": f"report of May\nby us\nname,price,note\n{_ROWS}".encode(),
    "a comment": f"name,price,note\n# by us\n{_ROWS}".encode(),
    "a mark of nothing": f"name,price,note\n{_ROWS}".replace("1.50", "NULL").encode(),
}
#: Those that one `lake.yaml` serves: what one of them needs changes nothing in the other.
_AGREE = [
    {"plain", "nothing but letters and whole numbers", "UTF-8", "a comment", "a mark of nothing"},
    {"plain", "nothing but letters and whole numbers", "windows-1252", "a comment", "a mark of nothing"},
]


@pytest.mark.parametrize("first", _PROGRAMS)
def test_files_that_need_other_options_of_csv_are_a_problem(tmp_path: Path, first: str) -> None:
    (tmp_path / "t").mkdir()
    for other in _PROGRAMS:
        (tmp_path / "t" / "1.csv").write_bytes(_PROGRAMS[first])
        (tmp_path / "t" / "2.csv").write_bytes(_PROGRAMS[other])
        printed = io.StringIO()
        run_infer(Console(file=printed, width=400), str(tmp_path), None)
        alike = first == other or any({first, other} <= group for group in _AGREE)
        assert ("write all files of a folder alike" not in printed.getvalue()) == alike, (other, printed.getvalue())


def _tables(*keys: str) -> dict[str, list[str]]:
    """Return the problems of each guessed table, by prefix."""
    return {guess.key.prefix: guess.problems for guess in guess_tables("landing", [Entry(key, 9) for key in keys])}


def test_tables_are_folders_up_to_the_first_partition_or_date() -> None:
    assert _tables(
        "orders/day=1/a.parquet", "orders/day=2/b.parquet", "shop/prices/x.csv", "logs/2026/11/22/17/a.json",
        "_tmp/x.csv", "orders/_SUCCESS", "empty/",
    ) == {key: [] for key in ("logs/", "orders/", "shop/prices/")}  # fmt: skip


def test_prefixes_never_overlap() -> None:
    assert _tables("sales/a.csv", "sales/eu/b.csv", "salesmen/c.csv") == {"sales/": [], "salesmen/": []}


def test_a_file_in_no_folder_is_a_table_only_alone() -> None:
    assert _tables("a.csv", "b.csv") == {"": []}
    (problem,) = _tables("a.csv", "orders/b.csv")[""]
    assert "move them into a folder" in problem


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (["t/a.csv", "t/b.parquet"], "several formats are in one folder (1 csv, 1 parquet)"),
        (["t/a=1/x.csv", "t/b=1/x.csv"], "the folders of t/b=1/x.csv do not name the same k=v columns"),
        (["t/_delta_log/0.json", "t/x.parquet"], "a Delta log is there already"),
        (["t/_delta_log/0.json", "t/inner/x.parquet"], "a Delta log is there already"),
    ],
)
def test_what_a_listing_says_is_wrong(keys: list[str], problem: str) -> None:
    (problems,) = _tables(*keys).values()
    assert len(problems) == 1
    assert problem in problems[0]


def test_empty_files_are_counted_and_not_looked_at() -> None:
    (guess,) = guess_tables("landing", [Entry("t/a.csv", 0), Entry("t/b.csv", 5)])
    assert guess.problems == ["empty files go to the quarantine, and here are 1; delete them"]
    assert guess.samples == [Entry("t/b.csv", 5)]


def test_names_are_distinct_and_legal() -> None:
    guesses = guess_tables("landing", [Entry(f"{folder}/x.csv", 1) for folder in ("a b", "a-b", "1st", "Ü")])
    assert sorted(guess.name for guess in guesses) == ["a_b", "a_b_2", "files", "t_1st"]


@pytest.mark.parametrize("folder", ["order", "group", "table", "values", "select", "class", "import", "Order"])
def test_a_folder_with_the_name_of_a_word_of_sql_or_python_gets_a_name_that_lake_yaml_takes(folder: str) -> None:
    (guess,) = guess_tables("landing", [Entry(f"{folder}/x.csv", 1)])
    assert guess.name == f"{folder.lower()}_files"
    assert TypeAdapter(Name).validate_python(guess.name) == guess.name


def test_the_lake_that_is_printed_loads(tmp_path: Path) -> None:
    dated = ["dated/dt=2026-01-02/shop=007/year=2026/a.parquet", "dated/dt=2026-01-03/shop=8/year=2027/a.parquet"]
    listing = [
        *dated,
        "orders/day=1/a.parquet",
        "odd \"name'/a#b/x.csv",
        "bare/data",
        "x.csv",
        "foreign/_delta_log/0.json",
    ]
    guesses = guess_tables("landing", [Entry(key, 1) for key in (*listing, "foreign/x.parquet")])
    for guess in guesses:
        guess.format = guess.format or "json"
        guess.columns = {"new\nline": "bigint"}
    path = tmp_path / "lake.yaml"
    path.write_text(render_lake_yaml("landing", guesses))
    config = load_lake(path, {})
    assert {spec.prefix: (spec.format, dict(spec.partition_columns)) for spec in config.tables} == {
        "s3://landing/bare/": ("json", {}),
        "s3://landing/dated/": (None, {"dt": "date", "shop": "string", "year": "int"}),
        "s3://landing/odd \"name'/a#b/": (None, {}),
        "s3://landing/orders/": (None, {"day": "int"}),
    }


@pytest.mark.parametrize("name", LOGS)
def test_a_log_of_aws_is_recognised_by_its_first_bytes(tmp_path: Path, name: str) -> None:
    log = LOGS[name]
    (file, body), *_ = log.plain.items()
    (guess,) = guess_tables("landing", [Entry(f"{log.prefix}2026/01/02/{file}", len(body))])
    guess.format = guess.format or format_of_bytes(body)
    sniffed = sniff_file(guess.format, FileSample(len(body), lambda length: body[:length], lambda _: b""))
    assert sniffed.problems == []
    guess.take(sniffed.columns)
    guess.options.update(sniffed.options)
    guess.declared.update(sniffed.declared)
    path = tmp_path / "lake.yaml"
    path.write_text(render_lake_yaml("landing", [guess]))
    (spec,) = load_lake(path, {}).tables
    wanted = TableSpec.model_validate({"name": "t", "prefix": "s3://landing/t/", **log.setting})
    assert (spec.format, spec.text, spec.json_options) == (wanted.format, wanted.text, wanted.json_options)
    assert wanted.columns.items() <= spec.columns.items()
    assert {name for row in log.rows[:1] for name in row} <= set(sniffed.columns)


@pytest.mark.parametrize(
    "text",
    [
        "a b c\n1 2 3\n",
        "#Fields: date time s-ip\n2026-01-01 00:00:00 192.0.2.1\n",
        "tls handshake failed\n",
        "192.0.2.1 - - [02/Jan/2026:03:04:05 +0000]\n",
        "interface-id,srcaddr\n",
    ],
)
def test_other_text_is_of_no_log(text: str) -> None:
    assert format_of_bytes(text.encode()) == "csv"
    with pytest.raises(ValueError, match="it is of no log"):
        sniff_text(text.encode())


def test_an_object_whose_rows_are_in_no_array_is_a_row() -> None:
    for text in (
        '{"Records":[{"a":1}],"count":1}',
        '{"Records":[{"a":1}],"x":[]}',
        '{"Records": 1}',
        '{"Records": [1]}',
        '{"a": 1, "Records": [{"a": 1}]}',
        '{"items": [{"a": 1}]}',
    ):
        assert sniff_json(text.encode(), whole=True).options == {}
    seen = sniff_json(b'{"Records":[{"a":1},{"a":2}]}', whole=True)
    assert (seen.options, seen.columns, seen.declared) == ({"records": "Records"}, {"a": "bigint"}, {})
    cut_off = sniff_json(b'{"Records":[{"a":1},{"a":', whole=False)
    assert (cut_off.options, cut_off.columns) == ({"records": "Records"}, {"a": "bigint"})
    # Notifications of S3 are other objects.
    message = sniff_json(b'{"Records":[{"eventVersion":"2.1","eventTime":"2026-01-02T03:04:05.000Z"}]}', whole=True)
    assert (message.options, message.declared) == ({"records": "Records"}, {})


def test_files_of_two_logs_are_not_read_by_one_preset() -> None:
    (alb,), (nlb,) = LOGS["alb"].plain.values(), LOGS["nlb"].plain.values()
    seen = sniff_text(alb)
    assert [seen.reads_alike(sniff_text(other).options) for other in (alb, nlb)] == [True, False]
    (trail,) = LOGS["cloudtrail"].plain.values()
    of_trail, digest = sniff_json(trail, whole=True), sniff_json(b'{"digestStartTime": "x"}', whole=True)
    assert [of_trail.reads_alike(seen.options) for seen in (of_trail, digest)] == [True, False]
    assert [digest.reads_alike(seen.options) for seen in (of_trail, digest)] == [False, True]


@pytest.mark.parametrize(
    "text", ["srcaddr\n192.0.2.1\n", "srcaddr dstaddr\n", "srcaddr dstaddr\n1 2 3\n", "srcaddr dstaddr\n1,2\n"]
)
def test_a_log_has_more_than_names_of_fields(text: str) -> None:
    assert format_of_bytes(text.encode()) == "csv"
    assert format_of_bytes(b"srcaddr dstaddr\n1 2\n") == "text"


def _csv(text: str | bytes) -> SniffedFile:
    return sniff_csv(text.encode() if isinstance(text, str) else text, whole=True)


@pytest.mark.parametrize(
    ("text", "options", "columns"),
    [
        ("id,name\n1,a\n", {}, {"id": "bigint", "name": "string"}),
        ("\ufeffid,b\r\n1,true\r\n", {}, {"id": "bigint", "b": "boolean"}),
        ('"","n"\n"Mazda RX4",1.5\n', {}, {"_c0": "string", "n": "double"}),
        ("a;b\n1;2,5\n", {"delimiter": ";", "decimal": ","}, {"a": "bigint", "b": "double"}),
        ("a\tb\n1\tx,y\n", {"delimiter": "\t"}, {"a": "bigint", "b": "string"}),
        ("a,b\nNA,1\n", {"nulls": ["", "NA"]}, {"a": "string", "b": "bigint"}),
        # NA is Namibia among codes of countries.
        ('a,b\n"BW,NA",1\nNA,2\nZA,\n', {}, {"a": "string", "b": "bigint"}),
        ("a,b\nNA,1\nZA,NA\n", {"nulls": ["", "NA"]}, {"a": "string", "b": "bigint"}),
        ("Report\n\na,b\n1,2\n3,4\n", {"skip": 2}, {"a": "bigint", "b": "bigint"}),
        (
            "sep=;\r\na;b\r\n1;2,5\r\n3;4,5\r\n",
            {"delimiter": ";", "decimal": ",", "skip": 1},
            {"a": "bigint", "b": "double"},
        ),
        ("# made by\na,b\n1,2\n# end\n", {"comment": "#"}, {"a": "bigint", "b": "bigint"}),
        ("2019,x\n2,3\n", {}, {"2019": "bigint", "x": "bigint"}),
        ("1,2\n3,4\n", {"header": False}, {"_c0": "bigint", "_c1": "bigint"}),
        ("id\n1\n", {}, {"id": "bigint"}),
        ('a,b\n"x\ny",1\n', {}, {"a": "string", "b": "bigint"}),
        ("M\u00fcller,b\nx,1\n".encode("latin-1"), {"encoding": "windows-1252"}, {"Müller": "string", "b": "bigint"}),
        ("a,b\n1,2\n".encode("utf-16"), {"encoding": "utf-16"}, {"a": "bigint", "b": "bigint"}),
        # A column stays text if a type would change its values.
        ("a,b,c\n00123,12345678901234567.89,1e5\n", {}, {"a": "string", "b": "string", "c": "double"}),
    ],
)
def test_csv_options_and_columns(text: str | bytes, options: dict[str, object], columns: dict[str, str]) -> None:
    sniffed = _csv(text)
    assert (sniffed.options, sniffed.columns, sniffed.problems) == (options, columns, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no header line"),
        ("a,A\n1,2\n", "columns 'A' and 'a' are the same to Spark"),
        ("id,_batch\n1,2\n", "column '_batch' is one that Tidegate adds"),
        ("a,b\n1,2\n3\n4,5\n", "1 of 3 rows do not have 2 cells"),
        (b"a,b\n1,x\xe5\x90y\n", "it is neither UTF-8 nor windows-1252: its byte 8 is 0x90"),
    ],
)
def test_csv_problems(text: str | bytes, problem: str) -> None:
    (found,) = _csv(text).problems
    assert problem in found


def test_a_sample_may_end_anywhere() -> None:
    body = "id,näme\n1,ä\n2,ö\n".encode()
    for end in range(len("id,näme\n1,ä\n".encode()), len(body)):
        sniffed = sniff_csv(body[:end], whole=False)
        assert (sniffed.columns, sniffed.options, sniffed.problems) == ({"id": "bigint", "näme": "string"}, {}, [])
    json = b'{"a": "x"}\n{"a": "y"}\n'
    for end in range(10, len(json)):
        assert sniff_json(json[:end], whole=False) == SniffedFile({"a": "string"})


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"b":{"c":[1.5]}}\n{"a":2.5}\n',
        '[{"a":1,"b":{"c":[1.5]}},\n{"a":2.5}]',
        '{"a":1,"b":{"c":[1.5]}}{"a":2.5}',
        '\ufeff{\n "a": 2.5,\n "b": {"c": [1.5]}\n}\n',
        '{"a":null,"b":{"c":[1.5]}}\n{"a":2.5}\n',
    ],
)
def test_json_of_every_shape(text: str) -> None:
    assert sniff_json(text.encode(), whole=True) == SniffedFile({"a": "double", "b": "struct<`c`: array<double>>"})


def test_a_json_column_has_the_fields_of_all_objects() -> None:
    """A field that is null in every object is not a column of the future table."""
    lines = (
        '{"n":1,"a":{"id":1,"name":null,"tags":[]},"none":null,"mixed":{"x":1}}',
        '{"n":2.5,"a":{"id":2.5,"name":"Ann","tags":[1,null,"x"]},"b":{"c":null},"mixed":1}',
        '{"n":null,"a":null,"big":9223372036854775808,"flags":[[true]],"rows":[{"p":1},{"q":0.5}],"empty":{}}',
    )
    assert sniff_json("\n".join(lines).encode(), whole=True).columns == {
        "n": "double",
        "a": "struct<`id`: double, `name`: string, `tags`: array<string>>",
        "mixed": "string",
        "big": "decimal(19,0)",
        "flags": "array<array<boolean>>",
        "rows": "array<struct<`p`: bigint, `q`: double>>",
    }


def test_a_change_feed_is_known_by_files_in_which_a_side_is_null(tmp_path: Path) -> None:
    """Creates, updates and deletes in one file, and a snapshot, where `before` is always null, in another."""
    row, new, tombstone = '{"id":1,"name":null}', '{"id":1,"name":"Ann"}', '{"schema":null,"payload":null}'

    def change(op: str, before: str, after: str) -> str:
        return f'{{"schema":{{}},"payload":{{"op":"{op}","before":{before},"after":{after},"source":{{"lsn":7}}}}}}'

    changes = [change("c", "null", row), change("u", row, new), change("d", new, "null"), tombstone]
    for name, lines in (("a", [change("r", "null", new)]), ("b", changes)):
        (tmp_path / "customers").mkdir(exist_ok=True)
        (tmp_path / "customers" / f"{name}.json").write_text("\n".join(lines))
    output = io.StringIO()
    assert run_infer(Console(file=output, width=400), str(tmp_path), None), output.getvalue()
    assert "silver: {from: debezium, keys: [id], every: 60}" in output.getvalue()


DECIMAL = "org.apache.kafka.connect.data.Decimal"
STATED: dict[str, dict[str, Any]] = {
    "credit": {"type": "bytes", "name": DECIMAL, "parameters": {"scale": "2", "connect.decimal.precision": "10"}},
    "born": {"type": "int32", "name": "io.debezium.time.Date"},
    "seen": {"type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    "notes": {"type": "string"},
}


def test_what_the_schema_of_a_feed_states_is_decoded_where_values_are_encoded(tmp_path: Path) -> None:
    """JSON with its schema, Avro, and Parquet that was written from rows of Avro. `seen` has no value in JSON yet."""
    row = {"id": 1, "credit": "MDk=", "born": 7305, "seen": None, "notes": "x"}
    fields = [
        {"type": "int32", "field": "id", "doc": 'a "number"'},
        *({**kind, "field": name} for name, kind in STATED.items()),
    ]
    envelope = {"type": "struct", "fields": [{"type": "struct", "fields": fields, "field": "after"}, {"field": "op"}]}
    payload = {"before": None, "after": row, "op": "c", "source": {"lsn": 1}}
    avro_fields = [
        {"name": "id", "type": "int", "doc": "number: of the\n customer"},
        {"name": "credit", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2,
                                    "connect.name": DECIMAL, "connect.parameters": STATED["credit"]["parameters"]}},
        {"name": "born", "type": ["null", {"type": "int", "connect.name": STATED["born"]["name"]}]},
        {"name": "seen", "type": ["null", {"type": "long", "connect.name": STATED["seen"]["name"]}]},
        *({"name": name, "type": ["null", "string"]} for name in ("notes", "__deleted")),
    ]  # fmt: skip
    schema = {"type": "record", "name": "Value", "fields": avro_fields}
    avro = io.BytesIO()
    fastavro.writer(avro, fastavro.parse_schema(schema), [])
    table = pa.table({"id": [1], "born": [7305], "seen": [7], "__deleted": ["false"]})
    for name in ("json", "avro", "parquet"):
        (tmp_path / name).mkdir()
    (tmp_path / "json" / "a.json").write_text(json.dumps({"schema": envelope, "payload": payload}))
    (tmp_path / "avro" / "a.avro").write_bytes(avro.getvalue())
    written_from = {"parquet.avro.schema": json.dumps(schema)}
    pq.write_table(table.replace_schema_metadata(written_from), tmp_path / "parquet" / "a.parquet")
    output = io.StringIO()
    assert run_infer(Console(file=output, width=400), str(tmp_path), None), output.getvalue()
    lines = output.getvalue().splitlines()
    (tmp_path / "lake.yaml").write_text(output.getvalue())
    described = {spec.name: spec.descriptions for spec in load_lake(tmp_path / "lake.yaml", {}).tables}
    number = "number: of the customer"
    assert described == {"json": {"id": 'a "number"'}, "avro": {"id": number}, "parquet": {"id": number}}
    decoded = {
        line.removeprefix("  - name: "): yaml.safe_load(lines[place + 3].lstrip(" #"))["silver"].get("decode")
        for place, line in enumerate(lines)
        if line.removeprefix("  - name: ") in ("json", "avro", "parquet")
    }
    assert decoded == {
        "json": {"credit": "decimal(10, 2)", "born": "days", "seen": "microseconds"},
        "avro": {"born": "days", "seen": "microseconds"},
        "parquet": {"credit": "decimal(10, 2)", "born": "days", "seen": "microseconds"},
    }
    assert f"  #   decode of credit: the files state that its type is {DECIMAL}, decimal(10, 2)" in lines


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"id,name\n", "it is not JSON"),
        (b"1\n2\n", "a row has to be a JSON object, and one is 1"),
        (b'null\n{"id": 1}\nnull\n', "a row has to be a JSON object, and one is null"),
        (b"[]", "no JSON object is in its first bytes"),
        (b'{"a":1,"a":2}', "an object names 'a' twice"),
        (b'{"a":1,"A":2}', "are the same to Spark"),
        (b'{"_source_path":1}', "is one that Tidegate adds"),
        (b'{"a":"\xe4"}', "it is not UTF-8"),
    ],
)
def test_json_problems(text: bytes, problem: str) -> None:
    (found,) = sniff_json(text, whole=True).problems
    assert problem in found


@pytest.mark.parametrize(
    ("name", "body", "problem"),
    [
        ("a", "\x1f\u008bno gzip", "begins like gzip, but it is not"),
        ("a.csv", "id,v\r0,a\r", "new-line character seen in unquoted field"),
        ("a.csv", 'id,v\n0,"a\rb"\n', None),
        ("a.json", '{"id": 0, "a": ' + "[" * 1200 + "]" * 1200 + "}\n", "nested deeper than 30 levels; write"),
        ("a.json", '{"a": ' + '{"x": ' * 60 + "1" + "}" * 60 + "}\n", "nested deeper than 30 levels; write"),
    ],
    ids=["no gzip", "lone returns", "a return in a cell", "deeper than Python reads", "deep"],
)
def test_no_file_keeps_the_others_from_being_listed(tmp_path: Path, name: str, body: str, problem: str | None) -> None:
    console = Console(file=io.StringIO(), width=100, no_color=True)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / name).write_bytes(body.encode("latin-1"))
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "b.csv").write_text("n\n1\n")
    assert run_infer(console, str(tmp_path), None) == (problem is None)
    assert isinstance(console.file, io.StringIO)
    output = console.file.getvalue()
    assert "#   n: bigint" in output
    problems = [line for line in output.splitlines() if "# problem:" in line]
    assert len(problems) == (problem is not None)
    assert problem is None or problem in problems[0]


def test_files_of_one_table_have_its_columns_in_any_case_and_add_to_its_structs() -> None:
    """The schema of a table has the same rules: two spellings are one column, and a new field is not a difference."""
    (guess,) = guess_tables("landing", [Entry("cars/a.json", 9)])
    assert guess.take({"Year": "string", "who": "struct<`first name`: string>", "n": "int"}) == []
    assert guess.take({"year": "bigint", "who": "struct<`age`: bigint>", "n": "bigint"}) == ["Year", "n"]
    assert guess.columns == {"Year": "string", "who": "struct<`first name`:string,`age`:bigint>", "n": "int"}


def test_bytes_say_their_format() -> None:
    heads = (b"PAR1\x15\x04", b' {"a"', b"\xef\xbb\xbf[", b"a,b", b"ORC\x0a\x06", b"ORCID,name\n", b"Obj\x01\x04")
    assert [format_of_bytes(head) for head in heads] == ["parquet", "json", "json", "csv", "orc", "csv", "avro"]
    assert unpack_head(gzip.compress(b"a,b\n")) == b"a,b\n"
    with pytest.raises(ValueError, match="begins like gzip"):
        unpack_head(b"\x1f\x8b nothing")


def test_a_file_that_declares_its_columns_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    output = io.StringIO()
    (tmp_path / "hive").mkdir()
    orc.write_table(pa.table({"id": [1]}), tmp_path / "hive" / "000000_0")
    assert run_infer(Console(file=output, width=80), str(tmp_path), None)
    assert "format: orc" in output.getvalue()


def test_a_folder_stands_for_a_bucket(tmp_path: Path) -> None:
    output = io.StringIO()
    console = Console(file=output, width=80)
    with pytest.raises(CommandError, match="no file"):
        run_infer(console, str(tmp_path), None)
    with pytest.raises(CommandError, match="nor a folder"):
        run_infer(console, str(tmp_path / "gone"), None)
    (tmp_path / "orders").mkdir()
    pq.write_table(pa.table({"id": [1], "tags": [["a"]]}), tmp_path / "orders" / "a.parquet")
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "stream-1").write_bytes(gzip.compress(b'{"at":"x"}{"at":"y"}'))
    assert run_infer(console, str(tmp_path), None)
    assert output.getvalue().startswith(f"# files below {tmp_path}: 2; tables: 2; problems: 0\n")
    lake = tmp_path / "lake.yaml"
    lake.write_text(output.getvalue())
    assert [(spec.name, spec.format) for spec in load_lake(lake, {}).tables] == [("events", "json"), ("orders", None)]
    assert "#   tags: array" in output.getvalue()

    (tmp_path / "events" / "stream-2").write_text('{"At":"z"}')
    assert not run_infer(console, str(tmp_path), None)
    assert "# problem: events/stream-2: columns 'At' and 'at' are the same to Spark; rename one" in output.getvalue()

    lake.unlink()
    printed = io.StringIO()
    assert not run_infer(Console(file=printed, width=80), str(tmp_path), None, as_json=True)
    answer = InferAnswer.model_validate_json(printed.getvalue(), strict=True)
    events, orders = answer.tables
    assert (events.name, events.format, events.files, events.possible) == ("events", "json", 2, True)
    assert events.problems == ("events/stream-2: columns 'At' and 'at' are the same to Spark; rename one",)
    assert (orders.prefix, orders.columns) == ("s3://landing/orders/", {"id": "bigint", "tags": "array<string>"})
    lake.write_text(answer.lake_yaml)
    assert [(spec.name, spec.format) for spec in load_lake(lake, {}).tables] == [("events", "json"), ("orders", None)]

    (tmp_path / "orders" / "b.parquet").write_bytes(b"PAR1 and no end")
    assert not run_infer(console, str(tmp_path), None)
    assert "# problem: orders/b.parquet: truncated or not Parquet" in output.getvalue()


@pytest.mark.parametrize("bucket", [None, "acme.exports", "b" * 63])
def test_the_lake_of_a_folder_is_one_that_the_local_platform_creates(tmp_path: Path, bucket: str | None) -> None:
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "a.csv").write_text("id\n1\n")
    printed = io.StringIO()
    assert run_infer(Console(file=printed, width=80), str(tmp_path), None, bucket=bucket)
    lake = tmp_path / "lake.yaml"
    lake.write_text(printed.getvalue())
    config = load_lake(lake, {})
    source = bucket or "landing"
    assert (config.buckets, config.tables[0].prefix) == ((source,), f"s3://{source}/orders/")
    assert WantedResources.from_config(config).every_bucket == [config.lake.root.split("/")[2], source]
    assert re.fullmatch(r"s3://[a-z0-9.-]{3,63}/tidegate", config.lake.root)
    assert re.fullmatch(r"[a-z0-9-]+", config.queues[0].name)


@pytest.mark.parametrize("sniff", [sniff_csv, sniff_json])
def test_a_file_that_is_not_text_has_no_columns(sniff: Any) -> None:
    with pytest.raises(ValueError, match=r"^it is a ZIP archive"):
        sniff(b"PK\x03\x04\n,\n", whole=True)


@pytest.mark.limit("Files", "Workbooks of Excel (`.xlsx`) and other archives are not read: save each sheet as CSV.")
def test_a_workbook_is_not_a_table(tmp_path: Path) -> None:
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "book.xlsx").write_bytes(b"PK\x03\x04" + bytes(60))
    printed = io.StringIO()
    assert not run_infer(Console(file=printed, width=80), str(tmp_path), None)
    assert "# problem: prices/book.xlsx: it is a ZIP archive, as a workbook of Excel (.xlsx) is" in printed.getvalue()


@pytest.mark.parametrize(
    ("address", "bucket", "problem"),
    [
        ("s3://landing/", "other", "--bucket is for a folder of this machine, and s3://landing/ names its bucket"),
        (".", "Not_A_Bucket", "--bucket Not_A_Bucket is not the name of a bucket"),
    ],
)
def test_a_bucket_is_named_for_a_folder_only(address: str, bucket: str, problem: str) -> None:
    with pytest.raises(CommandError, match=re.escape(problem)):
        run_infer(Console(file=io.StringIO()), address, None, bucket=bucket)


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("I,1,Alice,2024-01-01 00:00:00", "('1', '2024-01-01 00:00:00')"),
        ("a,2024-01-02", "('2024-01-02')"),
        ("name,.5,-3e4,true,7", "('.5', '-3e4', 'true')"),
    ],
)
def test_a_first_row_that_looks_like_values_is_reported(header: str, values: str) -> None:
    assert f"its first row looks like values and not like names {values}" in (header_doubt(header.split(",")) or "")
    assert any("its first row looks like values" in problem for problem in _csv(f"{header}\n{header}\n").problems)


@pytest.mark.parametrize("header", ["id,name", "country,2019,2020", "_c0,a1,1st", "id,"])
def test_names_are_not_values(header: str) -> None:
    assert header_doubt(header.split(",")) is None


def test_a_column_that_is_text_for_few_of_its_cells_is_reported() -> None:
    some = [str(n) for n in range(20)]
    (doubt,) = text_doubts({"price": [*some, "ten"], "name": ["a"] * 20, "code": [*some, *"abcdefgh"]}, ())
    assert doubt.startswith("column price is text, though 20 of its first 21 cells are bigint, and 'ten' is not: ")
    assert text_doubts({"price": ["1", "2", "x"]}, ()) == [], "too few to tell"
    (mixed,) = text_doubts({"mixed": [*some, "x", "1.5", "ten"]}, ["x"])
    assert "21 of its first 22 cells are double, and 'ten' is not" in mixed
    (later,) = text_doubts({"price": some}, ())
    assert "20 of its first 20 cells are bigint, and a later cell is not" in later
    assert any("column b is text" in problem for problem in _csv("a,b\n" + "x,1\n" * 30 + "x,ten\n").problems)


@pytest.mark.parametrize("levels", [29, 31, 150, 200, 300, 450, 2_000])
def test_a_file_that_is_nested_deeply_hides_no_other_table(tmp_path: Path, levels: int) -> None:
    for name, leaf in (("deep/1.json", "1"), ("deep/2.json", '"x"')):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"payload":' + '{"a":' * levels + leaf + "}" * levels + "}\n")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "1.json").write_text('{"id":1}\n')
    printed = io.StringIO()
    assert not run_infer(Console(file=printed, width=400), str(tmp_path), None)
    assert {table["name"] for table in yaml.safe_load(printed.getvalue())["tables"]} == {"deep", "plain"}
    assert levels < 30 or "nested deeper than 30 levels" in printed.getvalue()


@pytest.mark.parametrize("exponent", ["9", "999", "9" * 18, "9" * 19, "9" * 40])
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_number_with_any_exponent_is_looked_at(tmp_path: Path, exponent: str, sign: str) -> None:
    number = f"1e{sign}{exponent}"
    for name, body in (
        ("j/1.json", f'{{"id":{number}}}'),
        ("c/1.csv", f"id,at\n{number},x\n"),
        ("h/1.csv", f"{number},b\n1,2\n"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(body)
    printed = io.StringIO()
    run_infer(Console(file=printed, width=400), str(tmp_path), None)
    assert {table["name"] for table in yaml.safe_load(printed.getvalue())["tables"]} == {"j", "c", "h"}
    assert "InvalidOperation" not in printed.getvalue()
    assert keeps(f"0e{sign}{exponent}")
    assert keeps(number) == (number in ("1e9", "1e-9"))
