"""What is not text is named, and a text is never taken for something else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.keys.binary_files import explain_binary


@pytest.mark.parametrize(
    "text",
    [
        "ORCID,name\n1,a\n",
        "PAR1,PAR2\n1,2\n",
        "ORC\n1\n",
        "Obj,a\n",
        "PK,a\n",
        "7z,b\n",
        "BZh,a\n",
        "<htmlx>,a\n",
        "",
        "\ufeffid\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be", "cp1252"])
def test_a_text_with_the_letters_of_a_signature_is_a_text(text: str, encoding: str) -> None:
    assert explain_binary(text.encode(encoding, "ignore")) is None


@given(st.lists(st.text(st.characters(exclude_categories=["C"])), min_size=1).map(",".join))
def test_letters_are_a_text(text: str) -> None:
    if not text.lstrip().lower().startswith(("<html", "<!doctype", "%pdf-", "bzh91ay&sy")):
        assert explain_binary(text.encode()) is None
