"""The pages of commands and of procedures agree with the code that they describe."""

from __future__ import annotations

import re
from pathlib import Path

from tidegate.platform.cli.reference import reference_text

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = ROOT / "docs" / "reference"
JAVA = ROOT / "platform" / "jvm" / "src" / "main" / "java" / "io" / "tidegate"
#: Types of Spark, as the page writes them. Text has no name there.
TYPES = {"StringType": "", "LongType": " bigint", "BooleanType": " boolean"}


def test_the_page_of_commands_is_printed_from_their_code() -> None:
    assert (REFERENCE / "cli.md").read_text(encoding="utf-8") == reference_text(), "run: make commands"


def fields(struct: str) -> list[str]:
    """Return the names, types and defaults of a Java `new StructType().add(…)…`."""
    found = re.findall(r'\.add\((?:optional\()?"(\w+)", (\w+)(?:, "(.+?)L?")?', struct)
    return [f"{name}{TYPES[kind]}" + (f" = {default}" if default else "") for name, kind, default in found]


def procedures() -> dict[str, tuple[list[str], list[str]]]:
    """Return arguments and returned columns of each procedure that the catalog has, by its name."""
    catalog = (JAVA / "spark" / "Procedures.java").read_text(encoding="utf-8")
    found = {}
    for name in re.findall(r"new (\w+Procedure)\(\)", catalog):
        (path,) = (JAVA / "procedures").rglob(f"{name}.java")
        source = path.read_text(encoding="utf-8")
        call = re.search(r'super\(\s*"(\w+)",(.*?)\);', source, re.DOTALL)
        assert call, name
        _, arguments, returned = call[2].split("new StructType()")
        found[call[1]] = (fields(arguments), fields(returned))
    return found


def test_the_page_of_procedures_has_each_with_its_arguments_and_columns() -> None:
    page = (REFERENCE / "procedures.md").read_text(encoding="utf-8")
    listed = {
        name: (arguments.split(", ") if arguments else [], re.findall(r"`([^`]+)`", returned))
        for name, arguments, returned in re.findall(r"^\| `(\w+)\((.*?)\)` \| (.*?) \| .+ \|$", page, re.MULTILINE)
    }
    assert len(listed) > 10
    assert listed == procedures()


def test_the_page_of_procedures_has_each_refusal() -> None:
    page = (REFERENCE / "procedures.md").read_text(encoding="utf-8")
    kinds = (JAVA / "TidegateException.java").read_text(encoding="utf-8").split("enum Kind {")[1].split("}")[0]
    assert re.findall(r"^\| `TIDEGATE_(\w+)` \|", page, re.MULTILINE) == re.findall(
        r"^ +([A-Z]+),?$", kinds, re.MULTILINE
    )


def test_no_other_page_lists_the_procedures() -> None:
    for page in (
        ROOT / "CHANGELOG.md",
        ROOT / "platform" / "jvm" / "README.md",
        ROOT / "docs/internals/architecture.md",
    ):
        named = {name for name in procedures() if f"`{name}`" in page.read_text(encoding="utf-8")}
        assert len(named) < 4, f"{page.name} lists {named}; docs/reference/procedures.md does so"
        assert "procedures.md" in page.read_text(encoding="utf-8")
