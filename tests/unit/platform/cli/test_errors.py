"""The messages of commands without a platform, or without rows yet."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from tidegate.platform.cli.check.check import run_check
from tidegate.platform.cli.commands.sql import run_sql
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.stack_file import StackLock, make_home
from tidegate.platform.query.frame import explain_missing_table

LOCAL = "lake: {root: 's3://lake/lake'}\nqueues: [{url: '${TIDEGATE_QUEUE_URL}'}]\nbuckets: [landing]\n"


def test_with_a_lake_yaml_that_needs_a_local_platform_the_error_is_that_none_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The platform sets the missing variable, so the advice to set it by hand would be wrong."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDEGATE_QUEUE_URL", raising=False)
    monkeypatch.delenv("TIDEGATE_LAKE", raising=False)
    (tmp_path / "lake.yaml").write_text(LOCAL)
    said = io.StringIO()
    console = Console(file=said, width=200)
    with pytest.raises(CommandError, match=r"TIDEGATE_QUEUE_URL is not set.*\n.*`tidegate dev` starts one"):
        run_sql(console, "SELECT 1", None, 10)
    assert not run_check(console, None, None, None)
    assert "no local platform runs on .tidegate/demo or .tidegate/local of this directory" in said.getvalue()
    assert said.getvalue().endswith("\n1 check failed: lake-yaml.valid\n")


def test_a_platform_that_is_starting_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake.yaml").write_text(LOCAL)
    home = Path(".tidegate/local")
    lock = StackLock(home)
    lock.acquire()
    for given in (None, home):
        with pytest.raises(CommandError, match=rf"local platform on {home} \(process \d+\) is still starting"):
            run_sql(Console(), "SELECT 1", given, 10)
    lock.release()
    with pytest.raises(CommandError, match=r"no local platform runs on .*tidegate/local"):
        run_sql(Console(), "SELECT 1", home, 10)


@pytest.mark.parametrize(
    ("missing", "tables", "advice"),
    [
        (
            "`bronze`.`orders`",
            ["ledger.orders"],
            """FROM ledger.orders WHERE kind = '"'"'row'"'"''` shows which files are quarantined, wait""",
        ),
        ("`silver`.`orders`", ["ledger.orders"], "FROM ledger.orders"),
        ("`silver`.`orders`", ["bronze.orders", "ledger.orders"], "silver.orders is made by its first merge"),
        ("`bronze`.`orders`", ["bronze.clicks", "ledger.clicks"], None),
        ("`nowhere`.`orders`", ["ledger.orders"], None),
    ],
)
def test_the_error_of_a_table_without_rows_names_where_its_files_are(
    missing: str, tables: list[str], advice: str | None
) -> None:
    """The first query of a new user, while all files are in quarantine."""
    found = explain_missing_table(f"[TABLE_OR_VIEW_NOT_FOUND] The table or view {missing} cannot be found.", tables, {})
    assert [(advice or "") in line for line in found] == ([True] if advice else [])


def test_a_home_that_cannot_be_made_is_reported_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnavailableError, match="file/home cannot be created: Not a directory; choose another folder"):
        make_home(tmp_path / "file" / "home")
