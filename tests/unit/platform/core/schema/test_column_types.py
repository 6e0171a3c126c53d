"""Names of columns are compared as Java's `equalsIgnoreCase` compares them, everywhere."""

from __future__ import annotations

import hashlib
import re
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tracked import ROOT
from tidegate.platform.core.schema.column_types import fold_name

#: Folders of which every module compares names of columns.
_FOLDERS = (
    "assets",
    "platform/bronze",
    "platform/silver",
    "platform/forgetting",
    "platform/core/config",
    "platform/core/forgetting",
    "platform/core/schema",
    "platform/core/silver",
)
#: What is compared there otherwise, and rightly: names of options, headers, and what Spark's readers of files find.
_OTHERS = {"config/fields.py": 1, "config/webhook.py": 1, "schema/names.py": 1, "schema/column_types.py": 1}


#: Letters that Unicode got after version 13. Java 17 does not know them, and each Python knows others.
_NEWER = {
    *(0x2C2F, 0x2C5F, *range(0xA7C0, 0xA7E0), *range(0x10570, 0x105C0)),
    *range(0x10D50, 0x10D90),
    *range(0x16EA0, 0x16EE0),
}


def test_the_form_of_every_letter_is_the_one_of_java() -> None:
    """`NamesTest` of platform/jvm has the same digest."""
    letters = (code for code in chain(range(0xD800), range(0xE000, 0x20000)) if code not in _NEWER)
    forms = "".join(fold_name(chr(code)) for code in letters)
    assert (
        hashlib.sha256(forms.encode()).hexdigest() == "77671f3600008eeb3925b12434474bf65a89956bcff2f8622ae13b2da35e28b4"
    )


@pytest.mark.parametrize(
    ("left", "right"),
    ["µμ", "ςσ", "ſs", "ıi", "İi", "ϐβ", "ϑθ", "ϕφ", "ϖπ", "ϰκ", "ϱρ", "ϵε", "ẛṡ", "\u1fbeι", "Kk", "Åå", "Σς", "𐐀𐐨"],
)
def test_letters_that_are_one_for_spark(left: str, right: str) -> None:
    assert fold_name(f"{left}g") == fold_name(f"{right}g")
    assert len(fold_name(left)) == 1


_KNOWN = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="".join(map(chr, sorted(_NEWER)))))


@given(_KNOWN, _KNOWN)
def test_the_form_of_a_name_is_that_of_its_letters_in_any_case(left: str, right: str) -> None:
    form = fold_name(left)
    assert fold_name(left + right) == form + fold_name(right)
    assert fold_name(form) == form
    assert len(form) == len(left)
    assert form == fold_name("".join(up if len(up := letter.upper()) == 1 else letter for letter in left))
    assert form == fold_name("".join(low if len(low := letter.lower()) == 1 else letter for letter in left))


def test_other_letters_are_not_one() -> None:
    assert len({fold_name(name) for name in ("ß", "ss", "ﬁ", "fi", "é", "e\u0301", "i\u0307", "i")}) == 8


def test_no_module_compares_names_of_columns_otherwise() -> None:
    found = {}
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            # `name.lower()`, `field.name.lower()`, `column.lower()`
            if number := len(re.findall(r"\b(?:name|column|path\[\d\])\.lower\(\)", path.read_text(encoding="utf-8"))):
                found["/".join(path.parts[-2:])] = number
    assert found == _OTHERS, "compare names of columns with `fold_name`"
