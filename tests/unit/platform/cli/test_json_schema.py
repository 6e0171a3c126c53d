"""The JSON of commands has a published schema, and every command with `--json` is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import typer.main
from rich.console import Console
from typer.testing import CliRunner

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.health import NewsAnswer
from tidegate.platform.cli.answers.plans import refuse_to_apply
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.json_schema import ANSWERS, schema_text
from tidegate.platform.cli.main import app
from tidegate.platform.cli.reference import named_commands

ROOT = Path(__file__).resolve().parents[4]


def test_the_published_schema_is_that_of_the_code() -> None:
    published = (ROOT / "docs" / "commands.schema.json").read_text(encoding="utf-8")
    assert published == schema_text(), "run: make schema"


def test_every_command_with_json_has_a_schema_and_a_row() -> None:
    with_json = {
        name
        for name, command in named_commands(typer.main.get_command(app))
        if any("--json" in parameter.opts for parameter in command.params)
    }
    assert with_json == ANSWERS.keys()
    page = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    assert [name for name in sorted(with_json) if f"| `{name}` |" not in page] == []


def test_a_line_of_json_is_as_long_as_it_is(capsys: Any) -> None:
    news = NewsAnswer(
        at="2026-01-31T12:00:00Z",  # type: ignore[arg-type]
        event="quarantined",
        table="orders",
        numbers={},
        key="k" * 500,
        detail="",
    )
    print_answer(Console(width=80), news, lines=True)
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert NewsAnswer.model_validate_json(line, strict=True) == news


def test_a_shell_completes_commands_options_and_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(words: str) -> set[str]:
        place = str(len(words.split(" ")) - 1)
        environ = {"_TIDEGATE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
        return set(CliRunner().invoke(app, [], prog_name="tidegate", env=environ).stdout.split())

    lake = tmp_path / "lake.yaml"
    lake.write_text(
        "queues: [{url: '${NOT_SET}'}]\ntables: [{name: orders, silver: {keys: [id]}}, {name: clicks}, 1]\n"
    )
    monkeypatch.setenv("TIDEGATE_LAKE", str(lake))
    assert completed("tidegate rebuild ") == {"clicks", "orders", "silver.orders"}
    assert completed("tidegate why s") == {"silver.orders"}
    lake.write_text("[")
    assert completed("tidegate rebuild ") == set()
    assert completed("tidegate st") == {"stack", "status"}
    assert {"--json", "--home", "--lake"} <= completed("tidegate status --")
    script = CliRunner().invoke(app, [], prog_name="tidegate", env={"_TIDEGATE_COMPLETE": "source_bash"}).stdout
    assert "complete" in script
    assert "_TIDEGATE_COMPLETE=complete_bash" in script


def test_a_plan_for_programs_is_never_applied() -> None:
    refuse_to_apply(as_json=True, yes=False)
    refuse_to_apply(as_json=False, yes=True)
    with pytest.raises(CommandError, match="give one of them"):
        refuse_to_apply(as_json=True, yes=True)


@pytest.mark.parametrize(
    "words",
    ["reset orders", "rebuild orders", "maintain", "redrive", "ingest keys.txt", "forget", "inventory enable"],
)
def test_no_command_makes_a_change_and_prints_its_plan(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("reset", "rebuild", "redrive", "ingest", "maintain", "forget"):
        monkeypatch.setattr(
            f"tidegate.platform.cli.commands.{name}.client", lambda *_: pytest.fail("the lake was opened")
        )
    monkeypatch.setattr("tidegate.platform.cli.environment.client", lambda *_: MagicMock())
    with pytest.raises(CommandError, match="--json prints a plan, and --yes makes the change"):
        app([*words.split(), "--json", "--yes"], standalone_mode=False)
