"""`tidegate prove` before it makes anything: what it says, and when it refuses."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tidegate.platform.cli.commands.prove import Wish, ask_person, run_prove
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.main import app


@pytest.fixture(autouse=True)
def region(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_DEFAULT_REGION", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")


def prove(
    tmp_path: Path, *, budget: float | None = None, yes: bool = False, answer: bool = False, **more: Any
) -> tuple[bool, str]:
    console = Console(file=io.StringIO(), width=400, no_color=True)
    wish = replace(Wish(1000, False, False, False, tmp_path, budget, yes, tmp_path), **more)
    done = run_prove(console, wish, lambda _: answer)
    assert isinstance(console.file, io.StringIO)
    return done, console.file.getvalue()


def test_it_says_what_it_spends_at_most_and_makes_nothing_after_a_no(tmp_path: Path) -> None:
    done, said = prove(tmp_path)
    assert not done
    assert "It spends at most $0." in said
    assert "Nothing was made." in said
    assert list(tmp_path.iterdir()) == []


def test_a_spark_server_is_used_only_if_the_command_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://lake.corp:15002")
    _, said = prove(tmp_path)
    assert "It starts a Spark server on this machine: only --spark-remote names another, and not SPARK_REMOTE." in said
    assert "lake.corp" not in said
    _, said = prove(tmp_path, spark_remote="sc://proof.corp:15002/;token=secret")
    assert "It uses the Spark server sc://proof.corp:15002. Its tables have names there that end with _" in said
    assert "secret" not in said
    assert "two queues, lands" in said
    with pytest.raises(CommandError, match=r"--spark-remote: .* is not an address"):
        prove(tmp_path, spark_remote="proof.corp")


def test_a_lake_without_dynamodb_makes_no_table(tmp_path: Path) -> None:
    assert "a table of commits" in prove(tmp_path)[1]
    assert "a table of commits" not in prove(tmp_path, commits="s3")[1]


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match=r"--report .*/file cannot be written: "):
        prove(tmp_path, yes=True, report=tmp_path / "file")


def test_a_budget_that_is_too_small_is_refused_before_the_question(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"the run could spend \$0\.\d{4}, and --budget allows \$0\.0010: raise it"):
        prove(tmp_path, budget=0.001, yes=True)


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(CommandError, match="there is no terminal: add --yes"):
        ask_person("Begin?")


def test_a_run_is_named_only_to_be_removed() -> None:
    result = CliRunner().invoke(app, ["prove", "--run", "0123456789"])
    assert isinstance(result.exception, CommandError)
    assert "add --clean" in str(result.exception)


def test_the_policy_needs_nothing_to_be_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION")
    result = CliRunner().invoke(app, ["prove", "--policy"])
    assert result.exit_code == 0, result.output
    assert [each["Sid"] for each in json.loads(result.output)["Statement"]] == [
        "Buckets",
        "Objects",
        "Queues",
        "CommitTable",
        "FindRuns",
    ]


def test_the_policy_is_that_of_the_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "cn-north-1")
    result = CliRunner().invoke(app, ["prove", "--policy"])
    assert "arn:aws-cn:sqs:cn-north-1:*:tidegate-prove-*" in result.output
    assert "arn:aws:" not in result.output
