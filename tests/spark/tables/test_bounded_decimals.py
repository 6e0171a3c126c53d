"""A text becomes a decimal in little time, and the same decimal that Spark alone makes of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import product

import pytest
from pyspark.errors import PySparkException

from tidegate.platform.core.forgetting.persons import rescued_texts
from tidegate.platform.core.schema.casts import cast, try_cast
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.value_encoding import encoding
from tidegate.platform.core.silver.presets import comparable_position
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
TEXT, VARIANT = parse_sql_type("string"), parse_sql_type("variant")
#: Any one of these texts takes Spark ten seconds or more, so that a query of all of them would take hours.
_DEADLINE = 60
_LARGE = (20_000, 30_000_000, 300_000_000, 2**31 - 1, 2**31, 2**31 + 7, 10**11)
_VARIANT_OF_X = "variant_get(parse_json(to_json(named_struct('id', x))), '$.id')"
_BODIES = ("0", "-0.0", "1", "-9.5", "9" * 38, "0." + "1" * 900, "7" * 1_000, ".5", " 1", "x")


def _cheap() -> Iterator[str]:
    yield from (
        "",
        " ",
        "1E",
        "E5",
        "1E5 ",
        " 1e+5",
        "1e00000000000000000002",
        "1E-000012",
        "1e1.5",
        "+1E-1",
        "١٢",
        "NaN",
    )
    for body, minus, end in product(_BODIES, ("", "-", "+"), (0, 1, 9, 28, 37, 38, 39, 200, 9_999)):
        yield f"{body}E{minus}{end}"


def _costly() -> Iterator[str]:
    for body, minus, zeros, end in product(_BODIES, ("", "-", "+"), ("", "000"), _LARGE):
        yield f"{body}e{minus}{zeros}{end}"
    yield from ("1E-١٠٠٠٠٠٠٠", "1E-1٠٠٠٠٠٠٠", "1" * 1_000_000, "0." + "1" * 1_000_000, "0" * 1_000_000 + "1")


def test_a_bounded_text_is_the_decimal_that_spark_makes_of_it(tidegate_lake: MakeLake) -> None:
    session = tidegate_lake([]).lake.delta.session
    given = f"SELECT explode(from_json({literal(json.dumps(list(_cheap())))}, 'array<string>')) AS x"
    for kind in ("decimal(38,9)", "decimal(38,0)", "decimal(38,38)", "decimal(3,1)"):
        bounded, variant = try_cast(TEXT, parse_sql_type(kind), "x"), try_cast(VARIANT, parse_sql_type(kind), "v")
        plain, of_variant = f"try_cast(x AS {kind})", f"try_cast(v AS {kind})"
        both = f"SELECT x, {bounded} AS b, {plain} AS p, {variant} AS bv, {of_variant} AS pv"
        rows = session.sql(f"{both} FROM (SELECT x, {_VARIANT_OF_X} AS v FROM ({given}))").collect()
        assert len(rows) == len(list(_cheap()))
        assert [row for row in rows if row["b"] != row["p"] or row["bv"] != row["pv"]] == []
    nested = parse_sql_type("struct<a:array<decimal(9,2)>,m:map<string,decimal(9,2)>,b:decimal(9,2),s:string,i:int>")
    json_text = '{"a":["1.5",2.25,true,null],"m":{"k":"7"},"b":true,"s":"1E5","i":3}'
    made = cast(VARIANT, nested, f"parse_json('{json_text}')")
    (row,) = session.sql(f"SELECT {made} AS b, CAST(parse_json('{json_text}') AS {nested.sql()}) AS p").collect()
    assert row["b"] == row["p"]
    places = parse_sql_type("struct<x:array<struct<d:decimal(9,2),n:int>>,y:map<decimal(9,2),string>>")
    value = "named_struct('p', array(named_struct('q', '1.5', 'r', '3'), NULL), 'o', map('2.50', 'z'))"
    own = parse_sql_type("struct<p:array<struct<q:string,r:string>>,o:map<string,string>>")
    (row,) = session.sql(
        f"SELECT {cast(own, places, 'v')} AS b, CAST(v AS {places.sql()}) AS p FROM (SELECT {value} AS v)"
    ).collect()
    assert row["b"] == row["p"]


def test_no_text_of_a_producer_takes_long_to_become_a_decimal(tidegate_lake: MakeLake) -> None:
    session = tidegate_lake([]).lake.delta.session
    texts = list(_costly())
    given = f"SELECT explode(from_json({literal(json.dumps(texts[:-3]))}, 'array<string>')) AS x"
    long = " UNION ALL ".join(
        f"SELECT concat({start}, repeat('{digit}', 1000000), {end}) AS x"
        for start, digit, end in (("''", "1", "''"), ("'0.'", "1", "''"), ("''", "0", "'1'"))
    )
    rows = f"(SELECT x, {_VARIANT_OF_X} AS v, to_json(named_struct('id', x)) AS r FROM ({given} UNION ALL {long}))"
    found = [try_cast(TEXT, parse_sql_type(kind), "x") for kind in ("decimal(38,9)", "decimal(38,38)")]
    found += [try_cast(parse_sql_type("variant"), parse_sql_type("decimal(38,9)"), "v"), *rescued_texts("r", "id")]
    start = time.monotonic()
    made = session.sql(
        f"SELECT x, {', '.join(f'{sql} AS c{place}' for place, sql in enumerate(found))} FROM {rows}"
    ).collect()
    assert time.monotonic() - start < _DEADLINE
    assert len(made) == len(texts)
    # A number that is too small is 0, and one that is too large is not a decimal.
    for row in made:
        is_number = row["x"][0] != "x" and row["x"].isascii() and len(row["x"]) < 1_100
        assert row["c0"] == (Decimal("0E-9") if is_number and "e-" in row["x"] else None), row["x"][:50]
        assert row["c0"] == row["c2"]
    scn = comparable_position("CAST(s.scn AS DECIMAL(38, 0))", [Field("s", parse_sql_type("struct<scn:string>"))])
    (row,) = session.sql(f"SELECT {scn} AS o FROM (SELECT named_struct('scn', '1E-300000000') AS s)").collect()
    assert row["o"] == Decimal(0)
    with pytest.raises(PySparkException, match="1111111111111111111111111111111111111111…"):
        session.sql(
            f"SELECT {cast(TEXT, parse_sql_type('decimal(38,9)'), 'x')} FROM (SELECT repeat('1', 2000) AS x)"
        ).collect()


@pytest.mark.parametrize("kind", ["int", "bigint"])
def test_a_scale_that_no_decimal_has_is_named(tidegate_lake: MakeLake, kind: str) -> None:
    session = tidegate_lake([]).lake.delta.session
    least = {"int": -(2**31), "bigint": -(2**63)}[kind]
    decoded = encoding("decimal(10, 2)").sql("v", parse_sql_type(f"struct<scale:{kind},value:string>"))
    for scale in (least, least + 1, -300_000_000, -39):
        value = f"named_struct('scale', CAST('{scale}' AS {kind}), 'value', '{{}}')"
        (row,) = session.sql(f"SELECT {decoded} AS d FROM (SELECT {value.format('AA==')} AS v)").collect()
        assert row["d"] == Decimal("0.00")
        with pytest.raises(PySparkException, match=f"a number has the scale {scale}, and no decimal has so many zeros"):
            session.sql(f"SELECT {decoded} FROM (SELECT {value.format('BQ==')} AS v)").collect()
    for scale in (-least - 1, 300_000_000):
        value = f"named_struct('scale', CAST('{scale}' AS {kind}), 'value', 'BQ==')"
        with pytest.raises(PySparkException, match=f"a number has {scale} digits after its point"):
            session.sql(f"SELECT {decoded} FROM (SELECT {value} AS v)").collect()
