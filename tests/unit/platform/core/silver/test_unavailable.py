"""The placeholder of Debezium for a value that did not change, in each type that can have it."""

from __future__ import annotations

import pytest

from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.silver.unavailable import unavailable


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("string", "c IN ('ab', 'YWI=')"),
        ("binary", "c = CAST('ab' AS BINARY)"),
        (
            "array<string>",
            "c IN (array('ab'), array('YWI='), array('187ef443-6122-31cc-af40-dc2b92f0eba0'))",
        ),
        ("array<binary>", "c = array(CAST('ab' AS BINARY))"),
        ("array<int>", "c = CAST(array(97, 98) AS array<int>)"),
        ("array<bigint>", "c = CAST(array(97, 98) AS array<bigint>)"),
        ("map<string,string>", "map_keys(c) = array('ab')"),
        ("int", None),
        ("array<double>", None),
        ("map<int,string>", None),
        ("struct<a:string>", None),
    ],
)
def test_each_type_has_its_placeholder(kind: str, condition: str | None) -> None:
    assert unavailable("ab", parse_sql_type(kind), "c") == condition
    assert unavailable(None, parse_sql_type(kind), "c") is None
