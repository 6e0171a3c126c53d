"""SQL that decodes values of change feeds takes work by the text of a value, not by what the value claims."""

from __future__ import annotations

from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.value_encoding import encoding


def test_the_work_of_a_decimal_grows_with_no_claim_of_its_value() -> None:
    """Zeros for a scale of billions, ten to its power, or a sum over many bytes took the server down at each merge."""
    sql = encoding("decimal(20,4)").sql("v", parse_sql_type("struct<scale:int,value:string>"))
    near = "CAST(least(greatest(v.`scale`, -99), 99) AS INT)"
    assert sql.count(f"repeat('0', CAST(least(greatest({near} - 4, 0), 40) AS INT))") == sql.count("repeat(") == 1
    assert sql.count(f" = '0', '0', CAST(-{near} AS STRING))") == sql.count(f"-{near}") == 1
    assert "-v.`scale`" not in sql, "the least number of a type has no opposite"
    assert sql.count(" > 64, raise_error(") == sql.count("aggregate(") > 0
