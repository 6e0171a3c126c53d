"""Texts that YAML allows and a configuration does not need: floods of aliases, tags, literal variables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.config.yaml_document import flow, read_yaml
from tidegate.platform.lake.spark.remote import SparkRemote

_TEXTS = st.one_of(
    st.text(max_size=20),
    st.text(st.sampled_from("${}$A\\\"'#:\x85\u2028\ufeff\x1b\U0001f600 "), max_size=12),
    st.sampled_from(["${AWS_SECRET_ACCESS_KEY}", "$${A}", "$$${A:-b}", "${", "null", "~", "1", "yes"]),
)


def test_aliases_that_stand_for_millions_of_values_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    document = read_yaml("\n".join(lines))
    (problem,) = document.problems
    assert "aliases stand for more than 10,000 values" in str(problem)
    assert len(document.lines) < 30_000


def test_aliases_are_read_and_many_values_are_not_a_flood() -> None:
    columns = "columns: &c {id: int, at: timestamp}\n"
    tables = "tables:\n" + "".join(f"- {{name: t{n}, columns: *c}}\n" for n in range(3_000))
    document = read_yaml(columns + tables)
    assert document.problems == []
    assert document.data["tables"][2_999] == {"name": "t2999", "columns": {"id": "int", "at": "timestamp"}}
    assert read_yaml("a:\n" + "- [x, y]\n" * 20_000).problems == []


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.system ['id']",
        "a: !!python/tuple [1]",
        "a: !include [x]",
        "a: !!set {x}",
        "a: !!omap [x: 1]",
        "a: !Tag {x: 1}",
        "a: !Tag x",
        "a: !!python/name:os.system x",
    ],
)
def test_a_tag_that_means_nothing_is_a_problem_with_its_line(text: str) -> None:
    document = read_yaml(f"b: 1\n{text}")
    assert document.problems, text
    assert document.line_of(document.problems[0].where) == 2


def test_a_literal_variable_can_be_written() -> None:
    document = read_yaml("a: $${A} and ${A} and $$${A}\nb: cost $5\n", {"A": "x"})
    assert (document.problems, document.data) == ([], {"a": "${A} and x and $${A}", "b": "cost $5"})
    (problem,) = read_yaml("a: ${not a name}").problems
    assert "a literal ${ is $${" in str(problem)


@pytest.mark.parametrize(
    "name",
    [
        *SparkRemote("sc://localhost:1", "x").environ, "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
        "GITHUB_TOKEN", "db_password", "MY_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "DAGSTER_PG_PASSWORD",
    ],
)  # fmt: skip
@pytest.mark.parametrize("default", ["", ":-none"])
def test_a_variable_that_holds_a_secret_is_not_a_value(name: str, default: str) -> None:
    document = read_yaml(f"root: s3://bucket/${{{name}{default}}}/x", {name: "wJalr"})
    (problem,) = document.problems
    assert (document.text_of(problem), document.line_of(problem.where)) == (
        f"root: the environment variable {name} may be a secret, which no value here can be; use another name", 1
    )  # fmt: skip
    assert "wJalr" not in repr(document)


def test_a_variable_of_no_secret_is_expanded() -> None:
    names = "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCOUNT_ID", "TIDEGATE_QUEUE_URL", "STAGE", "PARTITION_KEY"
    document = read_yaml("\n".join(f"{name}: ${{{name}}}" for name in names), dict.fromkeys(names, "x"))
    assert (document.data, document.problems) == (dict.fromkeys(names, "x"), [])


@given(_TEXTS, st.dictionaries(_TEXTS, _TEXTS, max_size=3), st.lists(_TEXTS, max_size=3))
def test_a_value_is_read_as_it_was(text: str, mapping: dict[str, str], texts: list[str]) -> None:
    value = {"text": text, "mapping": mapping, "texts": texts, "number": 1, "flag": True}
    document = read_yaml(f"value: {flow(value)}\n", {"A": "expanded", "AWS_SECRET_ACCESS_KEY": "secret"})
    assert document.problems == []
    assert document.data == {"value": value}


def test_it_is_one_line_that_a_person_reads() -> None:
    assert flow({"prefix": "s3://landing/é😀/"}) == '{"prefix": "s3://landing/é😀/"}'
    assert flow("a\nb") == '"a\\nb"'
