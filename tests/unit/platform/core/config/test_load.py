"""A lake in a component file of `dg` is read as a lake.yaml is, with the lines of that file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.platform.core.config.load import LakeConfigError, load_lake, read_lake_yaml

COMPONENT = """\
type: tidegate.platform.component.LakeComponent

attributes:
  inline:
    lake: {root: "s3://lake/root"}
    queues: [{name: events}]
    buckets: ["${LANDING}"]
    tables:
      - name: orders
        prefix: s3://landing/orders/
"""


def problems(folder: Path, text: str) -> list[str]:
    path = folder / "defs.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LakeConfigError) as raised:
        load_lake(path, {"LANDING": "landing"})
    return [problem.removeprefix(f"{path}:") for problem in raised.value.problems]


def test_a_component_file_is_a_lake(tmp_path: Path) -> None:
    (tmp_path / "defs.yaml").write_text(COMPONENT, encoding="utf-8")
    config = load_lake(tmp_path / "defs.yaml", {"LANDING": "landing"})
    assert config.buckets == ("landing",)
    assert [spec.name for spec in config.tables] == ["orders"]
    document = read_lake_yaml(COMPONENT, {"LANDING": "landing"})
    assert document.line_of(("tables", 0)) == 9
    assert document.line_of(("tables", 0, "silver")) == 9
    assert document.line_of(()) == 4


def test_a_component_file_may_have_other_components(tmp_path: Path) -> None:
    """Their problems are not those of the lake, which has the lines of the file."""
    other = "type: other.Component\nattributes: {path: '${NOWHERE}', text: '{{ x }}', path: 1}\n---\n"
    for text in (f"{other}{COMPONENT}", f"---\n{other}{COMPONENT}", f"{COMPONENT}---\ntype: other.Component\n"):
        (tmp_path / "defs.yaml").write_text(text, encoding="utf-8")
        assert load_lake(tmp_path / "defs.yaml", {"LANDING": "landing"}).buckets == ("landing",)
        line = text.splitlines().index("      - name: orders") + 1
        assert read_lake_yaml(text, {}).line_of(("tables", 0)) == line
    (tmp_path / "lake.yaml").write_text("lake: {root: s3://lake/root}\n---\nbuckets: []\n", encoding="utf-8")
    with pytest.raises(LakeConfigError, match=r"lake.yaml:3: a second document begins here; remove it"):
        load_lake(tmp_path / "lake.yaml")


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("tables:", "tabels:", "8: tabels: unknown field; did you mean 'tables'?"),
        ("orders/", "orders", "10: tables[0].prefix: "),
        ("${LANDING}", "${NOWHERE}", "7: buckets[0]: "),
        (
            "s3://lake/root",
            "{{ env.ROOT }}",
            "5: lake.root: templates of `dg` are not expanded in a lake: write ${NAME}",
        ),
        ("inline:", "lake:", "1: the component has no lake in `inline`; if it has `lake`, name that file instead"),
        ("type:", "type: x\ntype:", "2: type: given twice, first in line 1; remove one"),
        ("    tables:", "---\ntables:", "9: a document without `type` is no component"),
        (
            "type:",
            "attributes: {inline: {}}\ntype: y\n---\ntype:",
            "4: a second component has a lake in `inline`: put it",
        ),
    ],
)
def test_a_problem_has_the_line_of_the_component_file(tmp_path: Path, before: str, after: str, problem: str) -> None:
    assert any(found.startswith(problem) for found in problems(tmp_path, COMPONENT.replace(before, after)))
