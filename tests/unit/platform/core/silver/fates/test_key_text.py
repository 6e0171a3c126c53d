"""The text of a key and back."""

from __future__ import annotations

import pytest

from tidegate.platform.core.schema.column_types import Array, Field, Simple, Struct, Type
from tidegate.platform.core.silver.fates.key_text import is_no_value, text_of, value_of

REF = Struct((Field("oid", Simple("string")),))


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
    assert is_no_value(kind, text) == condition
