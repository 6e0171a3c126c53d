"""A key as a person writes it."""

from __future__ import annotations

import pytest

from tidegate.platform.core.silver.key_values import WrongKey, key_values


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
def test_what_is_no_key_is_refused_with_what_to_write(keys: tuple[str, ...], given: list[str], problem: str) -> None:
    with pytest.raises(WrongKey, match=problem.replace("(", r"\(").replace(")", r"\)").replace("$", r"\$")):
        key_values("silver.orders", keys, given)
