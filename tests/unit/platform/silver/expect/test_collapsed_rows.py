"""What silver takes for one row without a word is named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.core.schema.column_types import Field, Simple
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.silver.expect.collapsed_rows import (
    Collapse,
    inferred_text_order,
    misread_names,
    suspicious_joins,
)


def test_text_is_not_an_order_unless_somebody_chose_it() -> None:
    parts = tuple(SimpleNamespace(column=path) for path in (("at",), ("seq",), ("made",), ("_message_id",), ()))
    types = tuple(simple_type(name) for name in ("string", "bigint", "string", "string", "string"))
    rules: Any = SimpleNamespace(order=parts, order_types=types)
    spec: Any = SimpleNamespace(columns={"Made": "string"}, partition_columns={}, registers=None, format=None)
    assert inferred_text_order(spec, rules) == ("at",)
    for given in ({"columns": {"AT": "string", "made": "string"}}, {"partition_columns": {"at": "string"}}):
        assert inferred_text_order(SimpleNamespace(**{**vars(spec), **given}), rules) == ()  # type: ignore[arg-type]
    for given, found in (({"registers": True}, ()), ({"format": "avro"}, ()), ({"format": "csv"}, ("at",))):
        assert inferred_text_order(SimpleNamespace(**{**vars(spec), **given}), rules) == found  # type: ignore[arg-type]


def test_each_kind_is_a_sentence_with_what_to_do() -> None:
    assert Collapse().sentences == ""
    assert Collapse().metadata() == {"null_keys": 0}
    met = Collapse(1, 2, ("at",), 3, ("GrÃ¶ÃŸe",), ("a", "b"), ("before",))
    assert [sentence.split(":")[0] for sentence in met.sentences.split(". ")] == [
        "1 row of the merged batches has a NULL in `keys`, and silver keeps one row of each key, also of NULL",
        "Choose `keys` that every row has, or leave such rows out by `skip_when`",
        "2 keys of the merged batches have several different inserts and no delete, and silver keeps one row of each",
        "3 rows of the merged batches look like UTF-8 that was read as another encoding",
        "`order` has `at`, which is text, and `columns` does not say so",
        "Give it a type in `columns`, or confirm `string` there",
        "the names of `GrÃ¶ÃŸe` look like UTF-8 that was read as another encoding",
        "2 columns joined in one run",
        "Look whether the first line of a file was not a header, or a file is of another table",
        "`silver` names `before`, which no file has had yet",
        "Check that the names are right",
    ]
    assert met.metadata() == {
        "null_keys": 1,
        "reinserted_keys": 2,
        "misread_rows": 3,
        "misread_columns": ["GrÃ¶ÃŸe"],
        "joined_columns": ["a", "b"],
        "awaited_columns": ["before"],
    }
    both = Collapse.from_steps([met, Collapse(1, joined=("c",))])
    assert both == Collapse(2, 2, (), 3, (), ("a", "b", "c"), ())


def fields(*names: str) -> list[Field]:
    return [Field(name, Simple("string")) for name in names]


MANY = [f"c{number}" for number in range(119)]


@pytest.mark.parametrize(
    ("before", "now", "joined"),
    [
        ("", "a b c d e f", ""),
        ("a b c d", "a b c d x y", ""),
        ("a b c d", "A b c d x y z", "x y z"),
        ("a b c d e f g", "a b c d e f g x y z", ""),
        (" ".join(MANY[:99]), " ".join(MANY), " ".join(MANY[99:])),
        (" ".join(MANY[:100]), " ".join(MANY), ""),
    ],
)
def test_columns_that_join_many_at_once_are_suspicious(before: str, now: str, joined: str) -> None:
    assert suspicious_joins(fields(*before.split()), fields(*now.split())) == tuple(joined.split())


def test_names_that_were_read_in_a_wrong_encoding_are_found() -> None:
    assert misread_names(fields("Größe", "ï»¿Artikelnr", "gr\ufffdn", "id")) == ("ï»¿Artikelnr", "gr\ufffdn")
