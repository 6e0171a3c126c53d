"""What is known of the rows of a merge from the statistics of their files, without a query."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors.exceptions.connect import AnalysisException

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_types import Field, Struct
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.presets import resolve_presets
from tidegate.platform.core.silver.rules import merge_rules
from tidegate.platform.silver.changes import Changes
from tidegate.platform.silver.row_queries import RowCounts, explain_refusal, inserts_sql, reinserted_keys, row_counts

AT = datetime(2026, 11, 25, 10, 0, 0, 250_000, tzinfo=UTC).timestamp()

READ = 1 << 15


class NoSession:
    """A session that answers no query."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the session was asked for {name}")


@pytest.mark.parametrize(
    ("kind", "bounds", "newest"),
    [
        ("timestamp", ["2026-11-25T09:00:00.000Z", "2026-11-25T10:00:00.250Z"], AT),
        ("timestamp", ["2026-11-25T12:00:00.250+02:00", "2026-11-25T09:59:00.000Z"], AT),
        ("timestamp_ntz", ["2026-11-25T10:00:00.250"], AT),
        ("timestamp", ["2026-11-25T10:00:00.250Z", None], None),
        ("bigint", [20261125, 7], None),
        ("timestamp", [], None),
    ],
)
def test_the_newest_time_of_the_order_is_that_of_the_statistics(
    kind: str, bounds: list[Any], newest: float | None
) -> None:
    order = SimpleNamespace(column=("source", "at"))
    rules: Any = SimpleNamespace(is_plain=True, inserts=None, order=(order,), keys=(), values={})
    schema = TableSchema((Field("source", Struct((Field("at", simple_type(kind)),))),))
    statistics = [
        json.dumps({"nullCount": {"source": {"at": 0}}, "maxValues": {"source": {"at": bound}} if bound else {}})
        for bound in bounds
    ]
    changes: Any = SimpleNamespace(statistics=statistics)
    session: Any = NoSession()
    assert row_counts(session, changes, rules, schema) == RowCounts(newest=newest)


def test_rows_without_a_key_are_counted_by_the_statistics() -> None:
    at = SimpleNamespace(column=("at",))
    keys = tuple(SimpleNamespace(column=path) for path in (("id",), ("who", "name"), ("made",), ()))
    values = {"id": "`id`", "who": "`who`", "made": "upper(`x`)"}
    rules: Any = SimpleNamespace(is_plain=True, inserts=None, order=(at,), keys=keys, values=values)
    who = Field("who", Struct((Field("name", simple_type("string")),)))
    schema = TableSchema((Field("id", simple_type("int")), Field("at", simple_type("int")), who))
    counts = [{"at": 0, "id": 2, "who": {"name": 1}}, {"at": 0, "id": 1}]
    changes: Any = SimpleNamespace(statistics=[json.dumps({"nullCount": count}) for count in counts])
    session: Any = NoSession()
    assert row_counts(session, changes, rules, schema).null_keys == 3


def test_keys_are_a_sample_of_all_rows_that_are_read() -> None:
    """A merge may read all of bronze for a batch of one row. All of their keys in one array would not fit."""
    asked: list[str] = []

    def sql(query: str) -> Any:
        asked.append(query)
        return SimpleNamespace(collect=lambda: [(0, 0, 0, None, [], 0, [], 0)])

    spec = SilverSpec(keys=("id",), order=("at",), every=9, **{"from": "dms"})
    bronze = (Field("Op", simple_type("string")), Field("id", simple_type("int")), Field("at", simple_type("int")))
    rules = merge_rules(spec, bronze, lambda expressions, relation: [simple_type("string")] * len(expressions))
    session: Any = SimpleNamespace(sql=sql)
    for read, every in ((None, 1), (50_000_000, 5_000)):
        row_counts(session, Changes("view", 4, "all", 1, {"rows": 1}, read), rules, TableSchema(bronze))
        assert f", {every}) = 0 AND (" in asked[-1]


@pytest.mark.parametrize(
    ("feed", "keys", "asked"),
    [
        ({"from": "dms"}, ["order_id"], True),
        ({"from": "dms"}, ["order_id", "lower(line)"], False),  # keys that are expressions are not compared
        ({"apply_as_deletes": "Op = 'D'"}, ["order_id"], False),  # nobody says which rows insert
    ],
)
def test_rows_are_read_if_the_feed_says_which_of_them_insert(
    feed: dict[str, str], keys: list[str], *, asked: bool
) -> None:
    """The rules are plain, and the order has no NULL: by the statistics alone, every key might be wrong."""
    columns = tuple(
        Field(name, simple_type(kind))
        for name, kind in {"Op": "string", "order_id": "bigint", "line": "string", "at": "timestamp"}.items()
    )
    silver = resolve_presets(SilverSpec.model_validate({**feed, "keys": keys, "order": "at", "every": 60}), columns)
    rules = merge_rules(silver, columns, lambda expressions, _: [simple_type("string")] * len(expressions))
    assert rules.is_plain
    queries: list[str] = []

    def answer(query: str) -> Any:
        queries.append(query)
        return SimpleNamespace(collect=lambda: [(0, 0, 0, None, [], 0, [(7, 1), (7, 2)], 0)])

    session: Any = SimpleNamespace(sql=answer)
    statistics = json.dumps({"numRecords": 4, "nullCount": {column.name: 0 for column in columns}})
    changes = Changes("v", 1, None, 1, {"rows": 4}, statistics=(statistics,))
    assert row_counts(session, changes, rules, TableSchema(columns)).reinserted == asked
    assert ["`Op` = 'I'" in query for query in queries] == [True] * asked


@pytest.mark.parametrize(
    ("condition", "parameters", "why"),
    [
        (
            "UNRESOLVED_COLUMN.WITH_SUGGESTION",
            {"objectName": "`nosuch`", "proposal": "`price`, `id`"},
            "there is no column `nosuch`; the nearest names are `price`, `id`",
        ),
        ("UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", {"objectName": "`nosuch`"}, "there is no column `nosuch`"),
        ("PARSE_SYNTAX_ERROR", {}, "[PARSE_SYNTAX_ERROR] Syntax error"),
    ],
)
def test_an_unknown_column_is_named_with_the_nearest_names(
    condition: str, parameters: dict[str, str], why: str
) -> None:
    text = "[PARSE_SYNTAX_ERROR] Syntax error\nat line 1"
    assert explain_refusal(AnalysisException(text, errorClass=condition, messageParameters=parameters)) == why


@pytest.mark.parametrize(
    ("made", "again"),
    [
        ([], 0),
        ([3], 0),
        ([3, 4], 1),
        ([3, 4, -1], 0),
        ([3, READ + 64], 0),
        ([READ + 64, READ + 65], 1),
        ([READ + 64, READ + 129], 0),
        ([READ + 64, READ + 65, 3], 1),
    ],
)
def test_a_key_is_none_if_it_has_several_inserts_and_no_delete(made: list[int], again: int) -> None:
    assert reinserted_keys([(7, each) for each in made], 10) == again
    assert reinserted_keys([(key, each) for key in (7, 8) for each in made], 40_000) == 2 * again * 4


def test_keys_are_not_compared_where_nobody_says_which_rows_insert() -> None:
    key = SimpleNamespace(column=("id",))
    rules: Any = SimpleNamespace(inserts=None, keys=(key,))
    assert inserts_sql(rules, 10, "true") == "array()"
    rules = SimpleNamespace(inserts=SimpleNamespace(), keys=(key, SimpleNamespace(column=())))
    assert inserts_sql(rules, 10, "true") == "array()"
