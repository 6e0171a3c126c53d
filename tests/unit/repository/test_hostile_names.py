"""A name that a producer chose is only letters in each place that shows it, or is left out there by name."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import dagster as dg
import duckdb
import pytest
import yaml
from dagster import serialize_value
from dagster_shared.serdes import deserialize_value
from markdown_it import MarkdownIt
from pyspark.sql import Row
from pyspark.sql.types import LongType, StructField, StructType
from rich.cells import cell_len
from rich.table import Table

from tests.support.hostile_names import LONG_NAMES, NAMES, ODDER_NAMES, TOO_LONG, generated
from tidegate.assets.catalog import _check_in_step
from tidegate.assets.health.report import HealthReport
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import evaluation_event, kept_description
from tidegate.assets.presentation.columns import column_changes, column_schema
from tidegate.assets.presentation.example_queries import format_queries
from tidegate.assets.presentation.markdown import list_lines
from tidegate.assets.presentation.plot import bars
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.routes.report import RouteState, Waiting
from tidegate.assets.silver import comparison_check as audit_check
from tidegate.assets.silver import export_check
from tidegate.assets.silver import report as silver_report
from tidegate.assets.silver.expectation_checks import expectation_results, results_of_merge
from tidegate.platform.bronze.prepare.formats.csv_files import Csv
from tidegate.platform.catalog import CatalogChange, CatalogSync
from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.commands.object_trace import StopAnswer, TraceAnswer
from tidegate.platform.cli.commands.sql import Result, show_result
from tidegate.platform.cli.commands.why import _answer, _show
from tidegate.platform.cli.terminal import Terminal
from tidegate.platform.core.catalog.entry import table_entry, view_entry
from tidegate.platform.core.catalog.foreign_types import trino_name
from tidegate.platform.core.config.csv_options import CsvOptions
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.yaml_document import flow
from tidegate.platform.core.errors import DataError, Misfit
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.markdown import cell
from tidegate.platform.core.schema.column_types import Field, fold_name, quote_name
from tidegate.platform.core.schema.names import check_names
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.expectations import expectations
from tidegate.platform.core.wording import command, one_line
from tidegate.platform.silver.audit.key_history import KeyHistory
from tidegate.platform.silver.expect.collapsed_rows import Collapse

#: What Glue takes in a name: a line of letters, in up to 255 bytes.
_GLUE = re.compile("[\t\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\ufeff]")
#: What GitHub's Markdown makes a link of, outside of code.
_LINK = re.compile(r"://|www\.|@")
_READER = MarkdownIt("js-default", {"linkify": False, "html": True}).enable(["table", "strikethrough"])


def _columns(*names: str, partitions: tuple[str, ...] = ()) -> TableSchema:
    return TableSchema(tuple(Field(name, parse_sql_type("bigint")) for name in names), partitions)


def _glue_table(name: str) -> None:
    for schema in (_columns("id", name), _columns("id", name, partitions=(name,))):
        entry = table_entry("raw", "t", "s3://lake/t", schema, ("lake", "key"), {fold_name(name): name, "id": name})
        storage, path = entry.input["StorageDescriptor"]["Columns"], entry.input["PartitionKeys"]
        taken = [] if entry.left_out else [name.lower()]
        assert [column["Name"] for column in (*storage, *path)] == ["id", *taken]
        assert [column["Name"] for column in path] == (taken if schema.partitions else [])
        for text in (text for column in (*storage, *path) for text in column.values()):
            assert _GLUE.fullmatch(text), text
            assert len(text.encode()) <= 255
        assert list(entry.left_out) == ([] if taken else [name])


def _glue_view(name: str) -> None:
    entry = view_entry("clean", "t", "t_all", _columns("id", name), (), ("lake", "key"), {fold_name(name): name})
    assert [column["Name"] for column in entry.input["StorageDescriptor"]["Columns"]] == [
        "id", *([] if entry.left_out else [name.lower()]),
    ]  # fmt: skip
    assert not re.search("[\n\r]", entry.input["ViewOriginalText"])


def _standard_sql(name: str) -> None:
    if "\x00" not in name:
        assert duckdb.sql(f"SELECT 1 AS {trino_name(name)}").columns == [name.lower()]


def _dagster_s_columns(name: str) -> None:
    shown = column_schema(_columns("id", name), {fold_name(name): name}, {name: name})
    assert deserialize_value(serialize_value(shown), dg.TableSchema) == shown
    changes = column_changes(column_schema(_columns("id")), shown)
    assert changes == [f"{name} bigint is new"]
    _only_letters(list_lines(changes).value)


def _markdown(name: str) -> None:
    for text in (list_lines([name]).value, bars(name, [(name, 1.0, "1")]), f"| a | b |\n|-|-|\n| {cell(name)} | x |"):
        _only_letters(text)


def _only_letters(markdown: str) -> None:
    kinds = {token.type for block in _READER.parse(markdown) for token in block.children or []}
    assert kinds <= {"text", "code_inline", "text_special"}, kinds
    assert not any(block.type.startswith(("html", "heading", "fence")) for block in _READER.parse(markdown))


def _printed(print: Callable[[Terminal], object]) -> str:
    terminal = Terminal(file=io.StringIO(), force_terminal=False, width=5_000)
    print(terminal)
    assert isinstance(terminal.file, io.StringIO)
    return terminal.file.getvalue()


def _descriptions_of_checks(name: str) -> None:
    met = Collapse(1, 2, *((name,), 3, *([(name, name)] * 4)))
    merged: Any = SimpleNamespace(collapse=met, violations={}, expectations=(), volume={"rows": 1})
    spec: Any = SimpleNamespace(name="t", silver=None, personal=None)
    instance: Any = SimpleNamespace(get_asset_records=lambda assets: [])
    asset, error = dg.AssetKey("t"), DataError(f"no column {name}")
    (apart,) = results_of_merge(spec, asset, merged, instance)
    health: Any = SimpleNamespace(**dict.fromkeys(("behind", "unknown", "tables", "routes", "queues"), ()), dead=0)
    kept = kept_description(evaluation_event(apart))
    assert kept
    route = RouteSpec.model_validate({"name": "r", "topic": "arn:aws:sns:eu-west-1:123456789012:t"})
    lake: Any = SimpleNamespace(delta=SimpleNamespace(check_session_alive=lambda: None))
    with patch.object(export_check, "export_changes", side_effect=error):
        exports = export_check.check_export(lake, spec, asset)
    with patch.object(audit_check, "compare", side_effect=error):
        compared = audit_check.equals_bronze(lake, spec, asset, instance)
    whole: Any = SimpleNamespace(paths=(), size=0, is_whole=True)
    found: Any = SimpleNamespace(keys=1, suspects=1, left_out=0, wrong=[(name,)], bronze=whole, silver=whole)
    results = [
        apart,
        *HealthReport(health, merged={"silver.t": kept}).checks(asset),
        RouteState(route, (Waiting(name, 1, 1e6, name),)).check(asset),
        exports,
        compared,
        audit_check._result(spec, asset, found, 0),
        _check_in_step(LakeNames().catalog, CatalogSync(1, [CatalogChange(name, f"has {name}", failed=True)])),
    ]
    described = [result.description for result in results if result.description]
    assert len(described) == 7
    for text in described:
        _only_letters(text)
        assert not _LINK.search(re.sub(r"(`+) .*? \1|`[^`]*`", "", text.replace("\\`", ""))), text


def _descriptions_of_columns(name: str) -> None:
    spec: Any = SimpleNamespace(name="t", descriptions={}, silver=None, registers=False)
    with patch.object(silver_report, "column_descriptions", lambda spec: {}):
        found = silver_report.columns_metadata(LakeNames(), spec, _columns("id"), {"id": [name, f"{name} 2"]})
    _only_letters(found["dagster/column_schema"].columns[0].description)


def _copied_queries(name: str) -> None:
    kinds = [block.type for block in _READER.parse(format_queries([f"SELECT {quote_name(name)}", "SELECT 1"]).value)]
    assert [kind for kind in kinds if not kind.startswith(("paragraph", "inline"))] == ["fence", "fence"]


def _terminal(name: str) -> None:
    table = Table(name)
    table.add_row(name)
    for each in (name, table):
        said = _printed(lambda terminal, each=each: terminal.print(each))  # type: ignore[misc]
        assert not _CONTROL.search(said), said
        lines = [one_line(line).strip() for line in name.split("\n")]
        assert all((line if cell_len(one_line(name)) else ascii(line)[1:-1]) in said for line in lines), said


def _answer_of_sql(name: str) -> None:
    schema = StructType([StructField("id", LongType()), StructField(name, LongType())])
    said = _printed(lambda terminal: show_result(terminal, Result(schema, [Row(1, 2)], 0)))
    assert not _CONTROL.search(said)
    assert all(one_line(line).strip() in said for line in name.split("\n")), said


def _json(name: str) -> None:
    stop = StopAnswer(at=None, what="ledger", detail=name)
    answer = TraceAnswer(address=name, stops=(stop,), verdict=name, waits_for=None, last_failure=name)
    said = _printed(lambda terminal: print_answer(terminal, answer))
    assert not _CONTROL.search(said)
    assert json.loads(said)["stops"][0]["detail"] == name


def _yaml(name: str) -> None:
    assert yaml.safe_load(flow({name: [name]})) == {name: [name.replace("${", "$${")]}


def _partition(name: str) -> None:
    key = TableKey("landing", f"{name.replace('/', '|')[:200]}/")
    assert TableKey.decode(key.encode()) == key
    # Dagster refuses three dots, and control characters, in the key of a partition.
    assert re.fullmatch(r"[A-Za-z0-9_.~=-]+", key.encode()), key.encode()
    assert "..." not in key.encode()


def _header_of_csv(name: str) -> None:
    body = io.StringIO(newline="")
    csv.writer(body).writerows([["id", name], [1, name]])
    spec: Any = SimpleNamespace(csv=CsvOptions(), columns={})
    assert Csv().look(body.getvalue().encode(), True, spec).names == ("id", name)


def _expectation(name: str) -> None:
    condition = f"{quote_name(name)} IS NOT NULL"
    silver = SilverSpec.model_validate({"keys": ["id"], "order": "at", "every": 60, "expect": {"e": condition}})
    spec: Any = SimpleNamespace(name="t", silver=silver)
    (result,) = expectation_results(spec, dg.AssetKey("t"), {"e": 1}, expectations(silver))
    _only_letters(result.description or "")
    assert condition in str(result.metadata["sql"].value)


def _why(name: str) -> None:
    found = KeyHistory(
        "silver.t", f"{name} = 1", (), False, None, (), name, False, (f"SELECT {quote_name(name)}",), (name,)
    )
    said = _printed(lambda terminal: _show(terminal, found))
    assert not _CONTROL.search(said)
    assert one_line(name).strip() in said
    answer = json.loads(_printed(lambda terminal: print_answer(terminal, _answer(found))))
    assert (answer["key"], answer["verdict"], answer["notes"]) == (f"{name} = 1", name, [name])


def _copied_command(name: str) -> None:
    query = f"SELECT {quote_name(name)}"
    if "\x00" not in name:  # No argument of a process has one.
        line = command("sql", query)
        assert _between_quotes(line).isdisjoint("!$`\\\n;&|<>(){}#")
        run = line.replace("tidegate sql", "printf %s", 1)
        assert subprocess.run(["sh", "-c", run], capture_output=True, check=True).stdout.decode() == query


def _between_quotes(line: str) -> set[str]:
    """Return the characters of a line that are not between single quotes."""
    return set(re.sub("'[^']*'", "", line.replace("'\"'\"'", "")))


@pytest.mark.seeds(1, 200)
@pytest.mark.parametrize(
    "place",
    [_glue_table, _glue_view, _standard_sql, _dagster_s_columns, _markdown, _descriptions_of_checks,
     _descriptions_of_columns, _copied_queries, _terminal, _answer_of_sql, _json, _yaml,
     _partition, _header_of_csv, _expectation, _why, _copied_command],
    ids=lambda place: place.__name__.strip("_"),
)  # fmt: skip
def test_a_name_is_only_letters_in_each_place(place: Callable[[str], None], seed: int) -> None:
    wrong = {}
    for name in (*NAMES, *ODDER_NAMES, *LONG_NAMES, *generated(Random(seed), 30)):
        try:
            place(name)
        except Exception as error:
            wrong[name] = f"{type(error).__name__}: {error}"
    assert wrong == {}


def test_a_name_that_no_table_can_have_is_refused_by_its_beginning() -> None:
    for name in TOO_LONG:
        with pytest.raises(Misfit, match=f"column {name[:60]}… has a name of more than 1,000 characters; shorten it"):
            check_names(_columns(name).columns)
        with pytest.raises(Misfit, match="1,000 characters"):
            _header_of_csv(name)


def test_no_line_of_a_run_s_log_obeys_a_name() -> None:
    lines: list[str] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    log = logging.Logger("run", logging.INFO)
    log.addHandler(Keeping())
    for name in NAMES:
        for write in (RunLog(log).info, RunLog(log).warning, RunLog(log).error, RunLog(log).trace):
            write(name)
    assert not [line for line in lines if _CONTROL.search(line)]
    root = Path(__file__).parents[3]
    raw = re.compile(r"(?<!RunLog\()\b(self\._)?context\.log\b")
    for folder in ("assets", "sensors"):
        for path in (root / folder).rglob("*.py"):
            text = path.read_text()
            assert not raw.search(text), f"{path.relative_to(root)} writes to a run's log without RunLog"
