"""`tidegate migrate oxbow`: what it reads, prints and writes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.unit.platform.core.migrate.test_plan import SIMPLE
from tidegate.platform.cli.commands.migrate_oxbow import run_migrate_oxbow
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.load import load_lake


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "main.tf").write_text(SIMPLE.replace('{ default = "shop/orders/" }', "{}"), encoding="utf-8")
    (folder / "terraform.tfvars").write_text('prefix = "web/orders/"', encoding="utf-8")
    (folder / "test.tfvars").write_text('prefix = "nobody/asked/"', encoding="utf-8")
    return folder


def said(
    *paths: Path, tables: Path | None = None, root: str | None = None, output: Path | None = None, **more: Any
) -> tuple[str, bool]:
    console = Console(file=io.StringIO(), width=80, no_color=True)
    complete = run_migrate_oxbow(console, paths, tables, root, output, **more)
    return console.file.getvalue(), complete  # type: ignore[attr-defined]


def test_the_whole_output_is_a_lake_that_loads_with_the_plan_as_comments(project: Path, tmp_path: Path) -> None:
    text, complete = said(project, root="s3://acme-lake/tidegate")
    (tmp_path / "lake.yaml").write_text(text, encoding="utf-8")
    lake = load_lake(tmp_path / "lake.yaml", {})
    assert complete
    assert lake.lake.root == "s3://acme-lake/tidegate"
    assert [each.prefix for each in lake.tables] == ["s3://acme-landing/web/orders/"], "as Terraform reads the folder"
    assert "# The order, in which no file is lost and none comes twice:" in text
    assert f"#   {project / 'main.tf'}:16: aws_lambda_function.oxbow, the function oxbow of oxbow:" in text


def test_with_a_file_for_the_lake_the_plan_alone_is_printed_and_no_file_is_overwritten(
    project: Path, tmp_path: Path
) -> None:
    written = tmp_path / "lake.yaml"
    text, _ = said(project, output=written)
    assert load_lake(written, {}).queues[0].name == "landing-events"
    assert "queues:" not in text
    assert not any(line.startswith("#") for line in text.splitlines())
    with pytest.raises(CommandError, match="name a file that is not there"):
        said(project, output=written)


def test_a_problem_is_printed_and_the_command_is_not_complete(project: Path, tmp_path: Path) -> None:
    text, complete = said(project / "main.tf")
    assert not complete
    assert "To settle first:" in text
    assert "var.prefix" in text
    tables = tmp_path / "tables.txt"
    tables.write_text("s3://acme-landing/web/orders/\n", encoding="utf-8")
    (project / "terraform.tfvars").write_text('prefix = ""', encoding="utf-8")
    assert said(project, tables=tables)[1]


def test_programs_get_the_lake_the_parts_and_the_steps(project: Path) -> None:
    answer = json.loads(said(project, as_json=True)[0])
    assert answer["problems"] == []
    assert "tables:" in answer["lake_yaml"]
    assert answer["changes"][0]["where"] == f"{project / 'main.tf'}:35"
    assert any("tidegate adopt web_orders --enter --yes" in step["commands"] for step in answer["steps"])


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="has no Terraform file"):
        said(tmp_path)
    with pytest.raises(CommandError, match=r"gone\.json cannot be read"):
        said(tmp_path / "gone.json")
    (tmp_path / "state.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CommandError, match="it is not text"):
        said(tmp_path / "state.json")
    with pytest.raises(CommandError, match="--root acme is not s3://bucket/path"):
        said(tmp_path, root="acme")
