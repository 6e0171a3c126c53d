"""Texts that YAML allows and a configuration does not need: floods of aliases, tags, literal variables."""

from __future__ import annotations

import pytest

from tidegate.platform.core.config.yaml_document import read_yaml


def test_aliases_that_stand_for_millions_of_values_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    document = read_yaml("\n".join(lines))
    (problem,) = document.problems
    assert "aliases stand for more than 10,000 values" in str(problem)
    assert len(document.lines) < 30_000


def test_aliases_are_read_and_many_values_are_no_flood() -> None:
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
