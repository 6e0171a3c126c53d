"""`tidegate ingest`: what it prints, and what it reads."""

from __future__ import annotations

import io
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tests.support.lakes.objects import Objects
from tidegate.platform.cli.answers.plans import IngestAnswer, ListedWithoutTable
from tidegate.platform.cli.commands import ingest
from tidegate.platform.cli.commands.ingest import listed_lines, run_ingest
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.operations.ingest import ListedObjects, WithoutTable


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> Any:
    config = LakeConfig.model_validate(
        {"lake": {"root": "s3://lake/root"}, "queues": [{"name": "events"}], "buckets": ["landing"]}
    )
    made = SimpleNamespace(config=config, store=LakeStore(Objects(), config.lake.root))  # type: ignore[arg-type]
    using = SimpleNamespace(
        open_lake=lambda: nullcontext(made),
        settings=SimpleNamespace(aws=SimpleNamespace(caller=lambda: "arn:aws:iam::1:role/r")),
    )
    monkeypatch.setattr(ingest, "client", lambda *_: using)
    return made


def said(keys: Path, *, yes: bool = False, as_json: bool = False) -> str:
    console = Console(file=io.StringIO(), width=300, no_color=True)
    run_ingest(console, keys, None, None, after_line=0, rate=500, yes=yes, as_json=as_json)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_list_is_ingested_only_with_yes(lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text("s3://landing/orders/1.csv\ns3://other/1.csv\n")
    text = said(keys)
    assert "1 objects of 1 tables:\n  1 of landing.orders, a new table" in text
    assert "1 objects of no table, which are left out:\n  1, the first s3://other/1.csv: the bucket 'other'" in text
    assert "Nothing was changed" in text
    answer = IngestAnswer.model_validate_json(said(keys, as_json=True), strict=True)
    (without,) = answer.without_table
    assert (answer.lines, answer.tables, answer.new_tables) == (2, {"landing.orders": 1}, ("landing.orders",))
    assert without == ListedWithoutTable(why=without.why, objects=1, first="s3://other/1.csv")
    assert lake.store.objects.bodies == {}

    text = said(keys, yes=True)
    assert "logged as s3://lake/root/operations/" in text
    assert f"1 objects are in the inbox, up to line 2 of {keys}" in text
    assert lake.store.inbox.tables() == ["landing.orders"]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"s3://landing/clicks/1.csv\n")))
    assert "up to line 1 of standard input" in said(Path("-"), yes=True)
    assert lake.store.inbox.tables() == ["landing.clicks", "landing.orders"]


def test_a_list_that_cannot_be_read_is_an_error_of_the_list(lake: Any, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read: No such file or directory"):
        said(tmp_path / "none.txt")
    with pytest.raises(CommandError, match="cannot be read: Is a directory"):
        said(tmp_path)
    keys = tmp_path / "keys.txt"
    keys.write_text("orders/1.csv\n")
    with pytest.raises(CommandError, match=f"line 1 of {keys}: 'orders/1.csv' is not of the form s3://bucket/key"):
        said(keys)
    for long in (b"s3://b/" + b"k" * 10_000, b'"s3://b/' + b'""' * 10_000):
        keys.write_bytes(b"s3://landing/clicks/1.csv\n" + long)
        with pytest.raises(CommandError, match=f"line 2 of {keys}"):
            said(keys)


def test_the_first_tables_and_reasons_are_shown() -> None:
    found = ListedObjects(
        tables={f"t{number}": number + 1 for number in range(25)},
        without_table={f"reason {number}": WithoutTable(number + 1, "s3://b/k") for number in range(22)},
    )
    lines = listed_lines(found)
    assert lines[:2] == ["325 objects of 25 tables:", "  25 of t24"]
    assert lines[21:24] == [
        "  and 15 of 5 other tables",
        "253 objects of no table, which are left out:",
        "  22, the first s3://b/k: reason 21",
    ]
    assert lines[-1] == "  and 3 for other reasons"
