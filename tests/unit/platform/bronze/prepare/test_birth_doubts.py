"""Warnings about the columns of a CSV table, in the run that creates it."""

from __future__ import annotations

import gzip
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.bronze.prepare.birth_doubts import birth_doubts
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, PlannedHint
from tidegate.platform.core.config.csv_options import CsvOptions
from tidegate.platform.core.keys.s3_address import S3Object
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import StoreError


def doubts(body: bytes | StoreError, born: dict[str, str], key: str = "t/a.csv", **spec: Any) -> list[str]:
    def piece(_: S3Object, start: int, count: int) -> bytes:
        if isinstance(body, StoreError):
            raise body
        return body[:count]

    said = {"format": None, "columns": {}, "csv": CsvOptions(), "policy": "evolve", **spec}
    source = Bucket(SimpleNamespace(piece=piece), "b")  # type: ignore[arg-type]
    table: Any = SimpleNamespace(source=source, spec=SimpleNamespace(mode=None, **said))
    size = 1 if isinstance(body, StoreError) else len(body)
    candidate = Candidate(key, S3Found("etag", size, 0), PlannedHint(Hint(key), "manifest"))
    fields = [Field(name, simple_type(kind)) for name, kind in born.items()]
    return birth_doubts(table.spec, table.source, [candidate], TableSchema(tuple(fields)))


PRICES = b"id,price\n" + b"1,2\n" * 300 + b"1,ten\n"


@pytest.mark.parametrize(
    ("key", "body"), [("t/a.csv", PRICES), ("t/a.csv.gz", gzip.compress(PRICES))], ids=["plain", "packed"]
)
def test_one_cell_that_makes_a_column_text_is_reported(key: str, body: bytes) -> None:
    (line,) = doubts(body, {"id": "bigint", "price": "string"}, key)
    assert line.startswith("column price is text, though 300 of its first 301 cells are bigint, and 'ten' is not: ")
    assert line.endswith("; then start the table over with `tidegate reset`")


def test_a_header_that_is_a_row_is_reported() -> None:
    (line,) = doubts(b"1,Alice,2024-01-01\n2,Bob,2024-01-02\n", {"1": "bigint", "Alice": "string"})
    assert line.startswith("of t/a.csv, its first row looks like values and not like names ('1', '2024-01-01'): ")


def test_what_lake_yaml_says_is_not_doubted() -> None:
    assert doubts(PRICES, {"id": "bigint", "price": "string"}, columns={"price": "string"}) == []
    assert doubts(b"1,a\n2,b\n", {"_c0": "bigint", "_c1": "string"}, csv=CsvOptions(header=False)) == []


@pytest.mark.parametrize("body", [StoreError("no answer"), b"", b"\xff\xfe\x00", b'a\n"x'])
def test_what_cannot_be_looked_at_is_not_doubted(body: bytes | StoreError) -> None:
    assert doubts(body, {"a": "string"}) == []


def test_other_formats_say_their_names_and_types() -> None:
    assert doubts(b'{"1": "x"}', {"1": "string"}, "t/a.json") == []
