"""What `infer` writes is read as the values that it was made of, and expands nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.config.yaml_document import read_yaml
from tidegate.platform.core.config.yaml_text import flow

_TEXTS = st.one_of(
    st.text(max_size=20),
    st.text(st.sampled_from("${}$A\\\"'#:\x85\u2028\ufeff\x1b\U0001f600 "), max_size=12),
    st.sampled_from(["${AWS_SECRET_ACCESS_KEY}", "$${A}", "$$${A:-b}", "${", "null", "~", "1", "yes"]),
)


@given(_TEXTS, st.dictionaries(_TEXTS, _TEXTS, max_size=3), st.lists(_TEXTS, max_size=3))
def test_a_value_is_read_as_it_was(text: str, mapping: dict[str, str], texts: list[str]) -> None:
    value = {"text": text, "mapping": mapping, "texts": texts, "number": 1, "flag": True}
    document = read_yaml(f"value: {flow(value)}\n", {"A": "expanded", "AWS_SECRET_ACCESS_KEY": "secret"})
    assert document.problems == []
    assert document.data == {"value": value}


def test_it_is_one_line_that_a_person_reads() -> None:
    assert flow({"prefix": "s3://landing/é😀/"}) == '{"prefix": "s3://landing/é😀/"}'
    assert flow("a\nb") == '"a\\nb"'
