"""A key as a person writes it."""

from __future__ import annotations

import pytest

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.schema.column_types import Array, Field, Simple, Struct, Type
from tidegate.platform.core.silver.key_values import is_missing_value, key_values, text_of, value_of

REF = Struct((Field("oid", Simple("string")),))


@pytest.mark.parametrize(
    ("keys", "given", "values"),
    [
        (("id",), ["id=42"], ("42",)),
        (("id",), ["ID=a=b c"], ("a=b c",)),
        (("id",), ["id="], ("",)),
        (("id",), ["id=null"], (None,)),
        (("id",), ["id='NULL'"], ("NULL",)),
        (("region", "ref.id"), ["ref.id=1", "region=eu"], ("eu", "1")),
        (("if(a=1, b, c)",), ["if(a=1, b, c)=x"], ("x",)),
        (("a", "a=b"), ["a=b=1", "a=2"], ("2", "1")),
    ],
)
def test_each_part_of_a_key_gets_its_value(
    keys: tuple[str, ...], given: list[str], values: tuple[str | None, ...]
) -> None:
    assert key_values("silver.orders", keys, given) == values


@pytest.mark.parametrize(
    ("keys", "given", "problem"),
    [
        (("id",), ["number=1"], "'number=1' gives no part of a key: the key of silver.orders is id: write id=…"),
        (("id",), ["id"], "'id' gives no part of a key"),
        (("id",), ["id=1", "id=2"], "id is given twice"),
        (("id", "lower(region)"), ["id=1"], "no value is given for lower(region): .* write id=… 'lower(region)=…'"),
        (("a$b", "`c`"), [], "write 'a$b=…' '`c`=…'"),
    ],
)
def test_what_is_not_a_key_is_refused_with_what_to_write(keys: tuple[str, ...], given: list[str], problem: str) -> None:
    with pytest.raises(BadValue, match=problem.replace("(", r"\(").replace(")", r"\)").replace("$", r"\$")):
        key_values("silver.orders", keys, given)


@pytest.mark.parametrize(
    ("kind", "text", "back"),
    [
        (Simple("integer"), "CAST(k AS STRING)", "CAST('7' AS int)"),
        (Simple("binary"), "base64(k)", "unbase64('7')"),
        (REF, "to_json(k", "from_json('7', 'struct<`oid`:string>'"),
        (Array(REF), "to_json(k", "from_json('7', 'array<struct<`oid`:string>>'"),
    ],
)
def test_a_value_has_a_text_that_gives_it_again(kind: Type, text: str, back: str) -> None:
    assert text_of(kind, "k").startswith(text)
    assert value_of(kind, "7").startswith(back)


@pytest.mark.parametrize(
    ("kind", "text", "condition"),
    [
        (Simple("integer"), "x", "try_cast('x' AS int) IS NULL"),
        (Simple("binary"), "x", "try_to_binary('x', 'base64') IS NULL"),
        (REF, '{"oid": "a"}', "false"),
        (REF, "[]", "true"),
        (REF, "{a}", "true"),
        (Array(REF), "[]", "false"),
    ],
)
def test_a_text_of_no_value_is_known(kind: Type, text: str, condition: str) -> None:
    assert is_missing_value(kind, text) == condition
