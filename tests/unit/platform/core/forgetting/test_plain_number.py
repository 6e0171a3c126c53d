"""A number has one plain spelling. Java reads the same table (`PlainNumberTest`)."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.forgetting.mentions import mentions
from tidegate.platform.core.forgetting.plain_number import MAX_DIGITS, plain_number

TABLE = json.loads((Path(__file__).parents[5] / "platform/jvm/src/test/resources/numbers.json").read_text())
_FEW = st.integers(0, 45)


@pytest.mark.parametrize(("plain", "spelled"), [(row["plain"], text) for row in TABLE for text in row["spelled"]])
def test_each_spelling_has_the_plain_one(plain: str | None, spelled: str) -> None:
    assert plain_number(spelled) == plain


@given(
    value=st.decimals(-(10**38), 10**38, places=0) | st.decimals(-(10**20), 10**20, places=12),
    shift=st.integers(-45, 45),
    zeros=st.tuples(_FEW, _FEW, _FEW),
    marks=st.tuples(st.sampled_from("eE"), st.sampled_from(["", "+"]), st.sampled_from(["", "+"]), st.booleans()),
)
def test_every_number_is_found_in_each_of_its_spellings(
    value: Decimal, shift: int, zeros: tuple[int, int, int], marks: tuple[str, str, str, bool]
) -> None:
    e, plus, of_exponent, point = marks
    with localcontext(prec=200):
        identity = format(value.normalize(), "f") if value else "0"
        text = format(abs(value.scaleb(-shift)), "f")
    whole, _, fraction = text.partition(".")
    sign = "-" if value < 0 else plus
    spelled = f"{sign}{'0' * zeros[0]}{whole}"
    if fraction or point:
        spelled += f".{fraction}{'0' * zeros[1]}"
    if shift or zeros[2]:
        spelled += f"{e}{'-' if shift < 0 else of_exponent}{'0' * zeros[2]}{abs(shift)}"
    assert plain_number(spelled) == identity
    for row in (f'{{"id": {spelled}, "a": ', f"7,{spelled},x", f'7;"{spelled}";x'):
        assert mentions(row, identity.__eq__)
        assert not mentions(row, f"{identity}1".__eq__)


@given(text=st.text("+-.,eE0123456789", max_size=12))
def test_what_is_no_number_has_no_plain_spelling(text: str) -> None:
    try:
        with localcontext(prec=MAX_DIGITS):
            value = Decimal(text.replace(",", ".", 1))
    except ArithmeticError:
        assert plain_number(text) is None
        return
    plain = plain_number(text)
    assert plain is None or Decimal(plain) == value
    assert plain is not None or abs(value.adjusted()) > MAX_DIGITS - len(text)


@pytest.mark.parametrize("text", ["9" * 5_000_000, "0" * 5_000_000 + ".e", "1." + "0" * 5_000_000 + "e-"])
def test_a_number_of_many_megabytes_ends(text: str) -> None:
    assert plain_number(text) is None
