"""The first hour of a reader: what docs/start/first-table.md prints is what the commands print."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.pages import code_blocks, written_files
from tests.support.tracked import ROOT
from tidegate.platform.cli.commands.infer import run_infer
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.local.aws import LocalAws

PAGE = ROOT / "docs" / "start" / "first-table.md"


def test_the_lake_of_the_page_is_what_infer_prints_and_silver_is_added_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "exports" / "prices").mkdir(parents=True)
    (tmp_path / "exports/prices/monday.csv").write_text(written_files(PAGE)["exports/prices/monday.csv"])
    monkeypatch.chdir(tmp_path)
    ((address, bucket),) = re.findall(
        r"tidegate infer (\S+) --bucket (\S+) > lake.yaml", PAGE.read_text(encoding="utf-8")
    )
    printed = io.StringIO()
    assert run_infer(Console(file=printed, width=80), address, None, bucket=bucket)
    lake, silver = code_blocks(PAGE, "yaml")
    assert printed.getvalue() == lake

    prefix = '    prefix: "s3://landing/prices/"\n'
    (tmp_path / "lake.yaml").write_text(lake.replace(prefix, prefix + silver))
    (table,) = load_lake(tmp_path / "lake.yaml", {}).tables
    assert table.silver is not None
    assert (table.name, table.silver.keys) == ("prices", ("shop",))


def test_the_python_of_the_page_reaches_the_local_s3() -> None:
    (python,) = code_blocks(PAGE, "python")
    local = LocalAws(Path("unused"), 4566).environ
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        assert f'"{local[name]}"' in python
