"""A lake in a component file of `dg` is read as a lake.yaml is, with the lines of that file."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.support.tracked import ROOT
from tidegate.platform.core.config.load import LakeConfigError, load_lake, read_lake_yaml

COMPONENT = """\
type: tidegate.LakeComponent

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
            "{{ project_root }}",
            "5: lake.root: of the templates of `dg`, a lake may have {{ env.NAME }} only; ${NAME} is the same variable",
        ),
        ("inline:", "lake:", "1: the component has no lake in `inline`; if it has `lake`, name that file instead"),
        ("type:", "type: x\ntype:", "2: type: given twice, first in line 1; remove one"),
        ("    tables:", "---\ntables:", "9: a document without `type` is not a component"),
        (
            "type:",
            "attributes: {inline: {}}\ntype: y\n---\ntype:",
            "4: a second component has a lake in `inline`: put it",
        ),
    ],
)
def test_a_problem_has_the_line_of_the_component_file(tmp_path: Path, before: str, after: str, problem: str) -> None:
    assert any(found.startswith(problem) for found in problems(tmp_path, COMPONENT.replace(before, after)))


_ENV = {"TIDEGATE_QUEUE_URL": "https://sqs/queue"}
_SHIPPED = ["lake.yaml", "platform/demo/lake.yaml"]
#: What takes the place of a value: other types, numbers without end, and characters with a meaning somewhere.
_VALUES = [
    "", "null", "~", "true", "-1", "0", "1e400", "-.inf", ".nan", "9" * 400, "0x10", "1_000", "2024-01-01", "[]", "{}",
    "[[]]", "{a: {}}", "[null]", "*a", "&a x", "!!binary aGk=", "!x y", "<<: *a", '"\\0"', '"\\ud800"', "'${A'", "${}",
    "s3://", "s3://b", "s3://b//k/", "s3a://b/k", "arn:aws:sqs:::", "a" * 5_000, "{" * 300, "- - - - -", "a: b: c",
    "cron", "* * * * *", "\u202e", "\ufeff", "ı", "%", "@", "`", "|", ">", "? x", "--- x",
]  # fmt: skip


def damaged(text: str, random: Random) -> str:
    """Return a text with one to four edits that a person could make, or an editor."""
    lines = text.splitlines()
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(lines))
        line = lines[place]
        match random.randrange(7):
            case 0:
                del lines[place]
            case 1:
                lines.insert(random.randrange(len(lines)), line)
            case 2:
                lines[place] = " " * random.randint(1, 3) + line if random.random() < 0.7 else line.lstrip()
            case 3 | 4:
                key, colon, _ = line.partition(":")
                lines[place] = f"{key}{colon} {random.choice(_VALUES)}" if colon else random.choice(_VALUES)
            case 5:
                at = random.randint(0, len(line))
                lines[place] = line[:at] + chr(random.choice([0, 9, 13, 34, 39, 58, 0x85, 0xFEFF, 0xD7FF])) + line[at:]
            case _:
                lines[place] = line[: random.randint(0, len(line))]
        if not lines:
            return ""
    return "\n".join(lines)


@pytest.mark.seeds(150, 5_000)
def test_a_damaged_file_is_read_or_refused_with_its_line(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    path = tmp_path / "lake.yaml"
    text = damaged((ROOT / _SHIPPED[seed % len(_SHIPPED)]).read_text(encoding="utf-8"), random)
    path.write_text(text, encoding="utf-8")
    refused: list[str] | None = None
    try:
        load_lake(path, _ENV)
    except LakeConfigError as error:
        refused = error.problems
    # Any other exception has failed the test.
    assert refused is None or refused
    assert [problem for problem in refused or () if not problem.startswith(f"{path}:")] == []
