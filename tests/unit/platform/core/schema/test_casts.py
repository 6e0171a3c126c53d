"""A text becomes a decimal in one place, which bounds it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from pathlib import Path
from time import process_time

import pytest

from tests.support.tracked import ROOT
from tidegate.platform.core.forgetting.persons import rescued_texts
from tidegate.platform.core.schema import digits
from tidegate.platform.core.schema.casts import cast, decimal_text, try_cast
from tidegate.platform.core.schema.column_types import Field, Simple
from tidegate.platform.core.schema.field_alignment import align_value
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.silver.key_values import is_missing_value, value_of
from tidegate.platform.core.silver.presets import comparable_position, log_position

#: Number of casts that are not from `cast` or `try_cast`, and why no text of a producer becomes a decimal by them.
OF_OTHERS = {
    "platform/silver/audit/key_rows.py": (2, "`align_value`, which bounds texts, and orders, which only widen"),
    "platform/silver/audit/sampled_keys.py": (1, "NULL"),
    "platform/silver/unchanged_values.py": (1, "NULL"),
    "platform/silver/newest_rows.py": (2, "NULL, and an empty list"),
    "platform/core/schema/field_alignment.py": (1, "NULL"),
    "platform/core/schema/casts.py": (2, "the functions themselves"),
    "platform/core/schema/value_encoding.py": (5, "the number of some bytes, with a scale within bounds"),
    "platform/core/silver/missing_columns.py": (2, "NULL"),
    "platform/core/silver/presets.py": (
        4,
        "numbers, NULL, `align_value`, which bounds texts, and a name that `comparable_position` gives the SQL of",
    ),
}
#: A cast to a decimal, or to a type that is known later.
_CAST = re.compile(r"(?i)\bas (decimal|\0\))")
_FOLDERS = ("platform", "assets", "sensors", "resources")


def _modules() -> Iterator[tuple[Path, ast.Module]]:
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "demo" not in path.parts:
                yield path, ast.parse(path.read_text(encoding="utf-8"))


def _texts(tree: ast.AST) -> Iterator[str]:
    """Yield literals of text. A value in them is a NUL."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_sql_makes_a_decimal_of_a_text_in_one_module() -> None:
    found = Counter(
        path.relative_to(ROOT).as_posix()
        for path, tree in _modules()
        for text in _texts(tree)
        if "cast(" in text.lower() and _CAST.search(text)
    )
    assert found == {path: count for path, (count, _) in OF_OTHERS.items()}, "use `cast` of casts.py"


def test_python_makes_a_decimal_of_a_text_in_one_function() -> None:
    found = [
        path.name
        for path, tree in _modules()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(alias.name == "decimal" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "decimal")
    ]
    assert found == ["digits.py"], "use `parse_exact` of platform/core/schema/digits.py"
    assert Path(digits.__file__).read_text(encoding="utf-8").count("decimal.Decimal(") == 1


def test_java_makes_a_decimal_of_a_text_in_one_function() -> None:
    sources = (ROOT / "platform" / "jvm" / "src" / "main").rglob("*.java")
    made = {
        (path.stem, given)
        for path in sources
        for given in re.findall(
            r"new BigDecimal\(([^;]*?)\)[;.)\n ]|(?:Decimal\.fromString|new BigInteger)\(([^;]*?)\);",
            path.read_text(encoding="utf-8"),
        )
    }
    assert {stem for stem, _ in made} == {"Digits", "AvroFiles"}, "use Digits.exact"


def _generated() -> Iterator[str]:
    ends = (0, 1, 37, 38, 39, 999, 9_999, 10_000, 99_999, 300_000_000, 2**31 - 1, 2**31, 10**12, 10**30)
    bodies = ("0", "1", "9" * 38, "1" * 1_000, "0." + "1" * 1_000, "1" * 1_000_000, ".5", "0." + "0" * 50 + "1")
    for sign, body, minus, zeros, end in product(("", "-"), bodies, ("", "-"), ("", "000"), ends):
        yield f"{sign}{body}E{minus}{zeros}{end}"


def test_texts_of_every_sign_exponent_and_length_are_compared_in_time() -> None:
    start = process_time()
    for text in _generated():
        found = digits.parse_exact(text)
        assert found is None or found == Decimal(text)
        digits.keeps(text)
    assert process_time() - start < 60


def test_a_long_exponent_may_begin_with_zeros() -> None:
    assert digits.parse_exact("1e-000000000000005") == Decimal("0.00001")
    assert digits.parse_exact("1e1000000000") is None
    assert digits.parse_exact("1" * 1_101) is None
    assert digits.keeps("0e1000000000")
    assert not digits.keeps("1e1000000000")


TEXT = parse_sql_type("string")


@pytest.mark.parametrize(
    ("given", "wanted", "count"),
    [
        ("string", "decimal(9,2)", 1),
        ("string", "bigint", 0),
        ("decimal(9,2)", "decimal(10,2)", 0),
        ("array<string>", "array<decimal(9,2)>", 1),
        ("array<struct<a:string,b:string,c:int>>", "array<struct<x:decimal(9,2),y:int,z:decimal(9,2)>>", 1),
        ("map<string,array<string>>", "map<decimal(9,2),array<decimal(9,2)>>", 2),
        ("struct<a:string>", "struct<a:double>", 0),
        ("variant", "decimal(9,2)", 1),
        ("variant", "struct<a:array<decimal(9,2)>,b:bigint,c:map<string,decimal(3,1)>>", 2),
        ("variant", "bigint", 0),
    ],
)
def test_each_text_that_becomes_a_decimal_is_bounded_wherever_it_is(given: str, wanted: str, count: int) -> None:
    for made in (cast, try_cast):
        sql = made(parse_sql_type(given), parse_sql_type(wanted), "v")
        assert sql.count("regexp_replace(if(length(") == count
        assert sql.endswith(f" AS {parse_sql_type(wanted).sql()})")


def test_a_text_with_a_length_is_a_text() -> None:
    assert cast(Simple("varchar(9)"), parse_sql_type("decimal(9,2)"), "v").count("regexp_replace(if(length(") == 1


def test_no_other_sql_makes_a_decimal_of_a_text() -> None:
    fields = [Field("source", parse_sql_type("struct<scn:string>")), Field("n", parse_sql_type("bigint"))]
    (part,) = log_position("source.", ["scn"])
    bounded = {
        "order": comparable_position(part, fields),
        "rescued": rescued_texts("r", "id")[0],
        "key": value_of(parse_sql_type("decimal(9,2)"), "1E-300000000"),
        "tried": is_missing_value(parse_sql_type("decimal(9,2)"), "1E-300000000"),
        "aligned": align_value(parse_sql_type("struct<a:string>"), parse_sql_type("struct<a:decimal(9,2)>"), "v"),
    }
    for name, sql in bounded.items():
        assert "regexp_replace(if(length(" in sql, name
    # Silver has recorded the order under this name.
    assert part == "CAST(source.scn AS DECIMAL(38, 0))"
    assert comparable_position("CAST(n AS DECIMAL(38, 0))", fields) == "CAST(`n` AS decimal(38,0))"
    assert comparable_position("CAST(other AS DECIMAL(38, 0))", fields) == "CAST(other AS DECIMAL(38, 0))"


def test_a_bounded_text_is_shown_by_its_first_characters() -> None:
    assert "concat(left(v, 40), '…')" in decimal_text("v")
