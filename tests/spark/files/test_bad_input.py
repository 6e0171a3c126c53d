"""Bad input of every kind together with good input.

The good part is committed. The rest is quarantined with its reason, and counted. One lake ingests everything, in one
batch per table. Each test checks one kind of input.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from tests.spark.conftest import Shell
from tests.support.lakes.corrupt_parquet import that_aborts_arrow
from tidegate.platform.cli.commands.sql import run_sql
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.routing.unrouted_events import Unrouted
from tidegate.platform.lake.lake_views import quarantine_query
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.operations.object_trace import trace
from tidegate.platform.operations.redrive import Choice, quarantined_objects
from tidegate.platform.testing import TestLake

BOM = "\ufeff"
ODD_NAMES = [
    "b[1]",
    "b*",
    "{b}",
    "100%",
    "a b",
    "plus+",
    "ünï-試",
    "12:30",
    "q?",
    "h#1",
    "a=b",
    "~x",
    "semi;x",
    "x%20y",
]


def _gz(text: str) -> bytes:
    return gzip.compress(text.encode())


def _json(id: int, name: str) -> str:
    return f'{{"id": {id}, "name": "{name}"}}\n'


#: Objects by key below `json/`. The column `name` shows which object a row is from.
JSON_OBJECTS: dict[str, str | bytes] = {
    **{f"{name}.json": _json(100 + i, name) for i, name in enumerate(ODD_NAMES)},
    # A glob of b[1].json would match this object instead.
    "b1.json": _json(99, "b1"),
    "a//twice.json": _json(98, "a//twice"),
    "packed.json.gz": _gz(_json(97, "packed")),
    "empty.json": "",
    "mistyped.json": _json(1, "well typed") + '{"id": "one", "name": "mistyped"}\n{"id": 1.5, "name": "mistyped"}\n',
    "broken.json": 'not json\n{"id": 2, "name"\n[1, 2]\n\n' + _json(2, "beside broken"),
    "joined.json": '{"id": 3, "name": "first"}\n{"id": 4, "name": "second"}{"id": 5, "name": "third"}\n',
    "torn.json": '{"id": 3, "name": "1st"}{"id": 4, "name": "2nd"}\n{"id": 5, "name": "before a tail"} tail\n',
    "cut.json": '[{"id": 13, "name": "in an array"},\n {"id": 14, "name": "cut',
    "mixed.json": "\n".join(
        [_json(15, "line"), json.dumps({"id": 16, "name": "pretty"}, indent=1), _json(17, "p" * 70_000)]
    ),
    "unknown.json": '{"id": 6, "name": "more", "extra": true}\n' + _json(7, "less"),
    "huge.json": '{"id": 99999999999, "name": "too big"}\n',
    "fake.json.gz": _json(8, "not packed"),
    "cut.json.gz": _gz("".join(_json(n, "cut") for n in range(5000)))[:-50],
    "zeros.json.gz": _gz(_json(18, "zeros")) + b"\0" * 512,
    "large_zeros.json.gz": _gz("".join(_json(n, "zeros") for n in range(50_000))) + b"\0" * 512,
    "members.json.gz": b"".join(
        _gz("".join(_json(n, f"member {n}") for n in range(first, first + 5_000))) for first in (0, 5_000)
    ),
    **{
        f"{name}.json{ending}": bz2.compress(_json(21, name).encode() * 40)
        for name, ending in (("b", ".bz2"), ("z", ".zst"))
    },
    **{f"plain{ending}": _json(22, "plain") * 40 for ending in (".deflate", ".lz4", ".snappy")},
    "latin.json": _json(10, "utf-8").encode() + _json(11, "M\u00fcller").encode("latin-1"),
    "replaced.json": _json(12, "\ufffd is a character"),
    "_x.json": _json(9, "hidden"),
    ".x.json": _json(9, "hidden"),
    "_work/x.json": _json(9, "hidden"),
}
CSV_OBJECTS: dict[str, str | bytes] = {
    "quotes.csv": 'id,name\n1,"a ""q"" b"\n2,"two\nlines"\n3,"a,b"\n',
    "reordered.csv": "name,id\nreordered,4\n",
    "case.csv": "ID,NAME\n5,case\n",
    "bom.csv": f"{BOM}id,name\n6,bom\n",
    "crlf.csv": 'id,name\r\n22,"a\r\nb\nc"\r\n23,"last"\r\n',
    "packed.csv.gz": _gz("id,name\n7,packed\n"),
    "fewer.csv": "id\n8\n",
    "zeros.csv.gz": _gz("id,name\n27,zeros\n") + b"\0" * 512,
    "plain.bz2": "id,name\n28,plain\n",
    "ragged.csv": "id,name\n9,kept\n10\n11,x,y\nword,mistyped\n",
    "all_bad.csv": "id,name\nx,y\n",
    "unknown.csv": "id,name,extra\n12,more,1\n",
    "twice.csv": "id,id\n13,14\n",
    "fake.csv.gz": "id,name\n15,not packed\n",
    "book.csv": b"PK\x03\x04\x14\x00id,name\n22,book\n",
    "latin.csv": "id,name\n16,M\u00fcller\n".encode("latin-1"),
    "late_latin.csv": f"id,name\n19,{'x' * (1 << 20)}\n20,M\u00fcller\n".encode("latin-1"),
    "replaced.csv": "id,name\n21,\ufffd is a character\n",
    "unclosed.csv": 'id,name\n22,before\n23,"never closed\n24,swallowed\n',
    "closed_late.csv": 'id,name\n25,"never closed\n26,"swallowed"\n',
    "empty.csv": "",
    "odd [1]%.csv": "id,name\n17,odd\n",
    "a//twice.csv": "id,name\n18,a//twice\n",
}


@dataclass
class Scene:
    lake: TestLake
    received: int
    counters: Counter[str]
    log: list[Unrouted]
    fate: dict[str, dict[str, tuple[str, str]]]
    metadata: dict[str, dict[str, Any]]
    checks: dict[str, dict[str, bool]]


@pytest.fixture(scope="module")
def scene(module_lake: Callable[..., TestLake], kit: Any) -> Scene:
    lake = module_lake(
        [
            {"name": "reg", "prefix": "reg/"},
            {"name": "csv", "prefix": "csv/", "format": "csv", "columns": {"id": "int", "name": "string"}},
            {"name": "json", "prefix": "json/", "format": "json", "columns": {"id": "int", "name": "string"}},
        ],
        discovery=False,
        schema="strict",
    )
    good = kit.parquet([{"id": 1, "name": "good"}])
    first = {"reg/good.parquet": good, "csv/good.csv": "id,name\n0,good\n", "json/good.json": _json(0, "good")}
    for key, body in first.items():
        lake.put(key, body)
    for table in ("reg", "csv", "json"):
        kit.run(lake, table)

    for key, body in JSON_OBJECTS.items():
        lake.put(f"json/{key}", body)
    for key, body in CSV_OBJECTS.items():
        lake.put(f"csv/{key}", body)
    for i, name in enumerate(ODD_NAMES):
        lake.put(f"reg/{name}.parquet", kit.parquet([{"id": 100 + i, "name": name}]))
    lake.put("reg/b1.parquet", kit.parquet([{"id": 99, "name": "b1"}]))
    lake.put("reg/a//twice.parquet", good)
    lake.put("reg/truncated.parquet", good[:-20])
    lake.put("reg/headless.parquet", b"PAR1" + good[len(good) // 2 :])
    lake.put("reg/text.parquet", "this is no Parquet")
    lake.put("reg/deadly.parquet", that_aborts_arrow(good))
    lake.put("reg/empty.parquet", b"")
    lake.put("reg/other.parquet", kit.parquet([{"id": 1, "extra": 2}]))
    lake.put("reg/mistyped.parquet", kit.parquet([{"id": "x", "name": "y"}]))
    lake.put("reg/_x.parquet", good)
    lake.put("reg/notes.csv", "id,name\n1,x\n")
    lake.put("other/x.json", _json(1, "no table"))
    lake.put("gone/x.json", "")
    for table, key in (("reg", "gone.parquet"), ("json", "gone.json")):
        lake.put(f"{table}/{key}", good)
        lake.delete(f"{table}/{key}")
    kit.send(lake, kit.event(lake, "x/y.json", bucket="somebody-elses"))
    kit.send(lake, "this is no JSON")
    kit.send(lake, json.dumps({"hello": "world"}))
    kit.send(lake, kit.event(lake, "json/bad%ZZ.json"))
    taken = lake.intake()
    results = {table: lake.materialize("bronze", table, from_inbox=True) for table in ("reg", "csv", "json")}
    logs = list(lake.lake.store.intake_log.entries())
    return Scene(
        lake,
        taken.received,
        sum((Counter(entry.counters) for entry in logs), Counter()),
        [event for entry in logs for event in entry.unrouted],
        {table: kit.fate(lake, table) for table in results},
        {table: kit.metadata(result) for table, result in results.items()},
        {table: kit.checks(result) for table, result in results.items()},
    )


def _names(scene: Scene, kit: Any, table: str) -> set[str]:
    found = kit.bronze(scene.lake, table, "name")
    assert len(found) == len(set(found)), "a row is there twice"
    return {name for (name,) in found}


def _quarantined_rows(scene: Scene, kit: Any, table: str) -> dict[str, list[tuple[str, str]]]:
    store, lake = scene.lake.lake.store, scene.lake
    folder = store.uri("quarantine", "rows", lake.key(table))
    found = lake.lake.delta.session.read.json(f"{folder}/*").collect()
    apart: dict[str, list[tuple[str, str]]] = {}
    for row in found:
        apart.setdefault(row["_source_path"].rsplit("/", 1)[-1], []).append((row["reason"], row["raw"]))
    return apart


def test_every_event_is_accounted_for_exactly_once(scene: Scene, kit: Any) -> None:
    ids = [row["event_id"] for table in scene.fate for row in kit.ledger(scene.lake, table) if row["event_id"]]
    assert len(ids) == len(set(ids))
    assert len(ids) + sum(scene.counters.values()) == scene.received
    assert scene.lake.lake.store.inbox.waiting_manifests() == []


def test_quarantine_is_counted_in_the_metadata_and_fails_its_check(scene: Scene) -> None:
    for table, fate in scene.fate.items():
        quarantined = sum(status == "quarantined" for status, _ in fate.values())
        assert scene.metadata[table]["quarantined"] == quarantined > 0
        assert scene.checks[table] == {
            "write_once_keys": True,
            "nothing_quarantined": False,
            "schema_unchanged": True,
        }


def test_sql_shows_what_intake_counted_and_what_is_in_quarantine(
    scene: Scene,
    kit: Any,
    monkeypatch: pytest.MonkeyPatch,
    shell: Shell,
) -> None:
    SqlNames(scene.lake.lake).name_tables()
    sql = partial(kit.query, scene.lake)
    counted = sql("SELECT outcome, sum(events) AS n FROM lake.intake GROUP BY outcome")
    assert {row["outcome"]: row["n"] for row in counted} == scene.counters
    (lost,) = sql("SELECT * FROM lake.intake WHERE bucket = 'somebody-elses'")
    assert (lost["outcome"], lost["events"], lost["key"]) == ("no_table", 1, "x/y.json")
    assert lost["queue"] == scene.lake.lake.queues[0].name
    assert lost["at"] is not None
    assert lost["reason"]

    found = sql("SELECT * FROM lake.quarantine")
    assert all(row["reason"] and row["at"] and row["address"].startswith("s3") for row in found)
    of = {kind: [row for row in found if row["kind"] == kind] for kind in ("message", "object", "row")}
    assert Counter(row["raw"] for row in of["message"])["this is no JSON"] == 1
    assert len(of["message"]) == scene.counters["malformed"]
    in_ledgers = [
        (table, row["key"]) for table in scene.fate for row in kit.ledger(scene.lake, table)
        if row["status"] == "quarantined"
    ]  # fmt: skip
    name = {table: scene.lake.lake.table(scene.lake.key(table)).spec.name for table in scene.fate}
    assert sorted((row["table_name"], row["key"]) for row in of["object"]) == sorted(
        (name[table], key) for table, key in in_ledgers
    )
    apart = [
        pair for table in ("json", "csv") for rows in _quarantined_rows(scene, kit, table).values() for pair in rows
    ]
    assert sorted((row["reason"], row["raw"]) for row in of["row"]) == sorted(apart)

    # The command reads only the ledgers of tables that may have something in quarantine. Its counts are still complete.
    for name_of, value in scene.lake.stack.environ.items():
        monkeypatch.setenv(name_of, value)
    shell.use(scene.lake)
    counts = "lake.quarantine.kind, count(*) AS n FROM lake.quarantine GROUP BY quarantine.kind"
    run_sql(shell, f"SELECT to_json(map_from_entries(collect_list((kind, n)))) FROM (SELECT {counts})", None, 1)
    assert json.loads(shell.said().splitlines()[-1]) == {kind: len(rows) for kind, rows in of.items()}
    tables = {table.table_key for table in scene.lake.lake.quarantining_tables()}
    assert {scene.lake.key(table) for table, _ in in_ledgers} <= tables


def test_odd_names_are_registered_each_with_its_own_content(scene: Scene, kit: Any) -> None:
    assert {name: scene.fate["reg"][f"{name}.parquet"][0] for name in ODD_NAMES} == dict.fromkeys(
        ODD_NAMES, "committed"
    )
    assert _names(scene, kit, "reg") == {"good", "b1", *ODD_NAMES}


def test_odd_names_are_loaded_each_with_its_own_content(scene: Scene, kit: Any) -> None:
    assert _names(scene, kit, "json") >= {"good", "b1", "a//twice", *ODD_NAMES}
    found = kit.bronze(scene.lake, "json", "name, _source_path")
    start = f"s3://{scene.lake.bucket}/json/"
    assert {path for name, path in found if name in ODD_NAMES} == {f"{start}{name}.json" for name in ODD_NAMES}


def test_a_key_with_an_empty_folder_name_is_quarantined_when_registered(scene: Scene) -> None:
    status, reason = scene.fate["reg"]["a//twice.parquet"]
    assert status == "quarantined"
    assert "empty folder name" in reason


@pytest.mark.parametrize("key", ["_x.json", ".x.json", "_work/x.json"])
def test_hidden_names_are_counted_as_own_files_and_trace_names_the_rule(scene: Scene, kit: Any, key: str) -> None:
    (event,) = [event for event in scene.log if event.key == f"json/{key}"]
    assert event.outcome == "own_file"
    assert "begins with" in event.reason
    assert [event for event in scene.log if "_delta_log" in event.key] == [], "each commit has such events"
    stops = {stop.what: stop.detail for stop in trace(scene.lake.lake, scene.lake.bucket, f"json/{key}").stops}
    assert "begins with" in stops["route"]
    assert "hidden" not in _names(scene, kit, "json")


@pytest.mark.parametrize("key", ["truncated", "headless", "text"])
def test_what_is_not_a_whole_parquet_file_is_quarantined(scene: Scene, key: str) -> None:
    status, reason = scene.fate["reg"][f"{key}.parquet"]
    assert status == "quarantined"
    assert reason.startswith("truncated")


def test_a_footer_that_kills_its_reader_is_quarantined_and_the_run_continues(scene: Scene) -> None:
    status, reason = scene.fate["reg"]["deadly.parquet"]
    assert status == "quarantined"
    assert "corrupt" in reason


@pytest.mark.parametrize(("table", "key"), [("reg", "empty.parquet"), ("csv", "empty.csv"), ("json", "empty.json")])
def test_empty_files_are_quarantined(scene: Scene, table: str, key: str) -> None:
    assert scene.fate[table][key] == ("quarantined", "empty file")


@pytest.mark.parametrize(
    ("key", "reason"),
    [("other.parquet", "column extra is not in the table"), ("mistyped.parquet", "column id is string")],
)
def test_parquet_of_another_schema_is_quarantined(scene: Scene, key: str, reason: str) -> None:
    assert scene.fate["reg"][key][0] == "quarantined"
    assert reason in scene.fate["reg"][key][1]


def test_another_format_in_a_registered_prefix_is_quarantined(scene: Scene) -> None:
    assert scene.fate["reg"]["notes.csv"][0] == "quarantined"


@pytest.mark.parametrize(("table", "key"), [("reg", "gone.parquet"), ("json", "gone.json")])
def test_an_object_gone_before_it_was_read_is_recorded_as_removed(scene: Scene, table: str, key: str) -> None:
    assert scene.fate[table][key][0] in ("removed", "duplicate")


def test_csv_is_read_as_rfc_4180_says_in_any_order_of_columns(scene: Scene, kit: Any) -> None:
    expected = {
        (0, "good"), (1, 'a "q" b'), (2, "two\nlines"), (3, "a,b"), (4, "reordered"), (5, "case"), (6, "bom"),
        (7, "packed"), (8, None), (9, "kept"), (17, "odd"), (18, "a//twice"), (21, "\ufffd is a character"),
        (22, "a\r\nb\nc"), (23, "last"),
    }  # fmt: skip
    assert set(kit.bronze(scene.lake, "csv", "id, name")) == expected
    assert len(kit.bronze(scene.lake, "csv", "id")) == len(expected)


def test_ragged_and_mistyped_csv_rows_are_quarantined_with_their_text(scene: Scene, kit: Any) -> None:
    assert scene.fate["csv"]["ragged.csv"][0] == "committed"
    apart = _quarantined_rows(scene, kit, "csv")
    assert sorted(raw for _, raw in apart["ragged.csv"]) == ["10", "11,x,y", "word,mistyped"]
    rows = {row["key"]: (row["rows"], row["bad_rows"]) for row in kit.ledger(scene.lake, "csv")}
    assert rows["csv/ragged.csv"] == (1, 3)


def test_the_ledger_names_the_folder_of_the_quarantined_rows(scene: Scene, kit: Any) -> None:
    folders = {row["key"]: row["bad_rows_folder"] for row in kit.ledger(scene.lake, "csv")}
    for key in ("ragged.csv", "all_bad.csv"):
        assert re.search(r"rows? .*the table, such as: ", scene.fate["csv"][key][1])
        found = scene.lake.lake.delta.session.read.json(folders[f"csv/{key}"]).collect()
        texts = [row["raw"] for row in found if row["_source_path"].endswith(f"/{key}")]
        assert len(texts) == {"ragged.csv": 3, "all_bad.csv": 1}[key]


def test_quarantined_rows_of_a_reading_that_was_repeated_are_gone(scene: Scene, kit: Any) -> None:
    store = scene.lake.lake.store
    for table in ("csv", "json"):
        prefix = store.key("quarantine", "rows", scene.lake.key(table)) + "/"
        folders = {
            f"s3a://{store.bucket}/{item.key.rsplit('/', 1)[0]}"
            for item in store.objects.list_under(store.bucket, prefix)
        }
        named = {row["bad_rows_folder"] for row in kit.ledger(scene.lake, table)} - {None}
        assert named
        assert folders == named


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("unknown.csv", "column extra is not in the table"),
        ("twice.csv", "column id is there twice"),
        ("fake.csv.gz", "it is not gzip"),
        ("latin.csv", "not UTF-8"),
        ("late_latin.csv", "not UTF-8"),
        ("unclosed.csv", "broken quoting in the row that begins in line 3"),
        ("closed_late.csv", "broken quoting in the row that begins in line 2"),
        ("all_bad.csv", "none of its 1 rows fits the table"),
        ("book.csv", "it is a ZIP archive, as a workbook of Excel (.xlsx) is; save each sheet as CSV UTF-8"),
    ],
)
def test_csv_files_that_do_not_fit_are_quarantined(scene: Scene, key: str, reason: str) -> None:
    assert scene.fate["csv"][key][0] == "quarantined"
    assert reason in scene.fate["csv"][key][1]


def test_json_lines_that_do_not_fit_are_quarantined_with_their_text(scene: Scene, kit: Any) -> None:
    apart = {key: sorted(rows) for key, rows in _quarantined_rows(scene, kit, "json").items()}
    assert [raw for _, raw in apart["mistyped.json"]] == [
        '{"id": "one", "name": "mistyped"}',
        '{"id": 1.5, "name": "mistyped"}',
    ]
    assert sorted(raw for _, raw in apart["broken.json"]) == ["[1, 2]", "not json", '{"id": 2, "name"']
    assert {raw: reason.split(";")[0] for reason, raw in apart["broken.json"]} == {
        "[1, 2]": "not a JSON object",
        "not json": "not a JSON object",
        '{"id": 2, "name"': "a JSON object, or array of objects, without its end: it was cut off",
    }
    ((reason, _),) = apart["unknown.json"]
    assert "extra" in reason
    assert {"well typed", "beside broken", "less", "packed"} <= _names(scene, kit, "json")
    assert not {"mistyped", "more"} & _names(scene, kit, "json")


def test_json_lines_that_are_not_utf_8_are_quarantined_with_their_bytes(scene: Scene, kit: Any) -> None:
    ((reason, raw),) = _quarantined_rows(scene, kit, "json")["latin.json"]
    assert reason.startswith("not UTF-8")
    assert base64.b64decode(raw).decode("latin-1") == _json(11, "M\u00fcller").rstrip()
    assert {"utf-8", "\ufffd is a character"} <= _names(scene, kit, "json")


def test_a_json_file_is_a_sequence_of_values_and_only_what_is_none_is_quarantined(scene: Scene, kit: Any) -> None:
    names = {"first", "second", "third", "1st", "2nd", "before a tail", "in an array", "line", "pretty", "p" * 70_000}
    assert names <= _names(scene, kit, "json")
    apart = _quarantined_rows(scene, kit, "json")
    assert not {"joined.json", "mixed.json"} & set(apart)
    assert apart["torn.json"] == [("not a JSON object; write one a line", "tail")]
    cut_off = "a JSON object, or array of objects, without its end: it was cut off; write it again"
    assert sorted(apart["cut.json"]) == [(cut_off, "["), (cut_off, '{"id": 14, "name": "cut')]


def test_json_files_of_which_no_row_fits_are_quarantined(scene: Scene) -> None:
    assert scene.fate["json"]["huge.json"][0] == "quarantined"
    assert "none of its" in scene.fate["json"]["huge.json"][1]


@pytest.mark.parametrize(
    ("table", "key"),
    [
        *(("json", f"{name}.json.gz") for name in ("fake", "cut", "zeros", "large_zeros")),
        ("csv", "zeros.csv.gz"),
    ],
)
def test_broken_gzip_is_quarantined_alone(scene: Scene, kit: Any, table: str, key: str) -> None:
    status, reason = scene.fate[table][key]
    assert status == "quarantined"
    assert "gzip" in reason
    assert not {"cut", "not packed", "zeros"} & _names(scene, kit, table)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        *(("json", name) for name in ("b.json.bz2", "z.json.zst", "plain.deflate", "plain.lz4", "plain.snappy")),
        ("csv", "plain.bz2"),
    ],
)
def test_text_that_is_packed_otherwise_by_its_name_is_quarantined_by_name(
    scene: Scene, kit: Any, table: str, key: str
) -> None:
    status, reason = scene.fate[table][key]
    assert status == "quarantined"
    assert reason.startswith(f"its name ends in .{key.rsplit('.', 1)[-1]}, and of packed text only gzip is read")
    assert not {"b", "z", "plain"} & _names(scene, kit, table)


def test_every_member_of_a_gzip_file_is_read(scene: Scene, kit: Any) -> None:
    assert sum(name.startswith("member ") for name in _names(scene, kit, "json")) == 10_000


def test_a_key_of_no_table_is_counted_with_the_remedy(scene: Scene) -> None:
    (event,) = [event for event in scene.log if event.key == "other/x.json"]
    assert event.outcome == "no_table"
    assert "`discovery` is off" in event.reason


def test_a_bucket_that_is_not_allowed_is_counted_with_the_remedy(scene: Scene) -> None:
    (event,) = [event for event in scene.log if event.subject == S3Address("somebody-elses", "x/y.json")]
    assert event.outcome == "no_table"
    assert "`buckets`" in event.reason


def test_messages_that_cannot_be_understood_are_kept_with_the_reason(scene: Scene) -> None:
    malformed = [event for event in scene.log if event.outcome == "malformed"]
    assert scene.counters["malformed"] == len(malformed) == 3
    s3, start = scene.lake.clients.s3, f"s3://{scene.lake.lake_bucket}/"
    kept = []
    for event in malformed:
        key = str(event.subject).removeprefix(start)
        body = s3.get_object(Bucket=scene.lake.lake_bucket, Key=key)["Body"].read()
        kept.append(json.loads(body))
    assert {"this is no JSON", '{"hello": "world"}'} <= {message["body"] for message in kept}
    assert any("not JSON" in message["reason"] for message in kept)
    assert any("unknown envelope" in message["reason"] for message in kept)
    assert any("percent escape" in message["reason"] for message in kept)


def test_a_table_whose_first_files_are_all_bad_takes_the_good_ones_that_follow(
    module_lake: Callable[..., TestLake], kit: Any
) -> None:
    lake = module_lake([])
    lake.put("late/bad.parquet", "this is no Parquet")
    lake.put("lines/bad.json", "not json\n")
    for table in ("late", "lines"):
        (done,) = kit.run(lake, table)
        assert done.batch.counts() == {"quarantined": 1}
    lake.put("late/good.parquet", kit.parquet([{"id": 1}]))
    lake.put("lines/good.json", '{"id": 1}\n')
    for table in ("late", "lines"):
        (done,) = kit.run(lake, table)
        assert done.batch.counts() == {"committed": 1}, [row.reason for row in done.batch.rows]
        assert kit.bronze(lake, table, "id") == [(1,)]


def test_what_is_open_in_quarantine_follows_the_reading_that_is_in_the_table(
    tidegate_lake: Callable[..., TestLake], kit: Any
) -> None:
    """A file that is fixed is resolved. The bad rows of a removed file are there again when its bytes come back."""
    lake = tidegate_lake([{"name": "n", "prefix": "n/", "format": "json", "columns": {"id": "int"}}])

    def run(body: str | None, key: str = "n/a.json") -> list[tuple[str, str]]:
        if body is None:
            lake.delete(key)
        else:
            lake.put(key, body)
        lake.intake()
        kit.run(lake, "n")
        SqlNames(lake.lake).name_tables()
        query = f"SELECT key, kind FROM ({SqlNames(lake.lake).quarantine_query()}) WHERE resolved_at IS NULL"
        found = sorted((row["key"], row["kind"]) for row in lake.lake.delta.session.sql(query).collect())
        redriven = [item.key for item in quarantined_objects(lake.lake, lake.key("n"), Choice(key="n/*"))]
        assert redriven == sorted({key for key, _ in found})
        return found

    mixed = '{"id": 1}\n{"id": "x"}\n'
    bad_row = [("n/a.json", "row")]
    assert run(mixed) == bad_row
    assert run(None) == []
    assert run(mixed) == bad_row
    assert run("not json\n", "n/b.json") == [*bad_row, ("n/b.json", "object"), ("n/b.json", "row")]
    assert run('{"id": 2}\n', "n/b.json") == bad_row
    assert run('{"id": 1}\n') == []
    _compare_for_generated_ledgers(lake)


def _compare_for_generated_ledgers(lake: TestLake) -> None:
    """Check that the view and a redrive choose the same objects, whatever was decided in which order."""
    generated, keys, rows, expected = random.Random(43), [f"n/{number}.json" for number in range(400)], [], []
    for key in keys:
        decisions: list[tuple[str, str | None, int]] = []
        for place in range(generated.randint(1, 6)):
            status = generated.choice([*Status, Status.COMMITTED, Status.QUARANTINED, Status.REMOVED, Status.DUPLICATE])
            etag, bad_rows = generated.choice(["a", "a", "b", None]), generated.randint(0, 1)
            reason = generated.choice([None, "why"])
            row = {"kind": "row", "n": place // 2 + 1, "position": place, "recorded_at": _at(place), "key": key}
            row |= {"status": str(status), "etag": etag, "reason": reason, "bad_rows": bad_rows}
            rows.append(row | {"bad_rows_folder": "rows/n/f"})
            if status is not Status.DUPLICATE or reason is None:
                decisions.append((status, etag, bad_rows))
        if _is_open(decisions):
            expected.append(key)
    assert 60 < len(expected) < 300
    ledger, session = lake.lake.table(lake.key("n")).ledger, lake.lake.delta.session
    version, _ = ledger.clock()
    schema = ledger.rows(version).schema
    names = [field.name for field in schema]
    frame = session.createDataFrame([tuple(row.get(name) for name in names) for row in rows], schema)
    frame.createOrReplaceTempView("generated_ledger")
    sources = ({"_source_path": str(S3Address(lake.bucket, key)), "reason": "why", "raw": "x"} for key in keys)
    lines = "\n".join(map(json.dumps, sources))
    lake.lake.store.objects.put(lake.lake_bucket, lake.lake.store.key("quarantine", "rows", "n", "f", "1.json"), lines)
    query = quarantine_query([(lake.key("n"), "n", "generated_ledger")])
    shown = session.sql(f"SELECT DISTINCT key FROM ({query}) WHERE table_name = 'n' AND resolved_at IS NULL").collect()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(ledger), "rows", lambda *_: frame)
        redriven = [item.key for item in ledger.quarantined_objects(version)]
    assert redriven == sorted(expected)
    assert sorted(row["key"] for row in shown) == sorted(expected)


def _at(place: int) -> datetime:
    return datetime(2026, 1, 1, 0, 0, place, tzinfo=UTC)


def _is_open(decisions: Sequence[tuple[str, str | None, int]]) -> bool:
    """Return whether an object is in quarantine, wholly or partly, by its decisions without further events."""
    states = [each for each in decisions if each[0] != Status.DUPLICATE]
    if not states:
        return False
    state, read = states[-1], [each for each in states if each[0] == Status.COMMITTED]
    is_back = state[0] == Status.REMOVED and decisions[-1][0] == Status.DUPLICATE and bool(read)
    if is_back and read[-1][1] is not None and decisions[-1][1] == read[-1][1]:
        state = read[-1]
    return state[0] == Status.QUARANTINED or (state[0] == Status.COMMITTED and state[2] > 0)
