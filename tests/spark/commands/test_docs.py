"""The examples of testing-your-lake.md, first-table.md and your-assets.md, run as they are written there."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

import tidegate
from tests.spark.conftest import Shell
from tidegate.platform.cli.commands.infer import run_infer
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.testing import TestLake

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "guides" / "testing-your-lake.md"
FIRST_TABLE = DOCS / "start" / "first-table.md"
YOUR_ASSETS = DOCS / "guides" / "your-assets.md"
PYTHON = DOCS / "reference" / "python.md"


def test_the_examples_of_the_testing_page_pass(
    tidegate_lake: Callable[..., TestLake], tidegate_stack: LocalStack
) -> None:
    for block, fixture in zip(_blocks(PAGE, "python"), (tidegate_lake, tidegate_stack), strict=True):
        names: dict[str, Any] = {}
        exec(compile(block, str(PAGE), "exec"), names)
        (test,) = [value for name, value in names.items() if name.startswith("test_")]
        test(fixture)


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)


def test_the_first_table_is_made_as_its_page_says(
    tidegate_lake: Callable[..., TestLake],
    shell: Shell,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake = tidegate_lake([{"name": "prices", "prefix": "prices/"}])
    shell.use(lake)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "exports" / "prices"
    folder.mkdir(parents=True)
    (text,) = re.findall(r"printf '(.*)' > exports/prices/monday.csv", FIRST_TABLE.read_text())
    (folder / "monday.csv").write_text(text.replace("\\n", "\n"))
    (block,) = _blocks(FIRST_TABLE, "python")
    assert "http://127.0.0.1:4566" in block
    here = block.replace("http://127.0.0.1:4566", lake.stack.aws.endpoint).replace('"landing"', f'"{lake.bucket}"')
    exec(compile(here, str(FIRST_TABLE), "exec"), {})
    assert run_infer(shell, f"s3://{lake.bucket}/", None), shell.said()
    assert f'prefix: "s3://{lake.bucket}/prices/"' in shell.said()

    lake.intake()
    lake.materialize("bronze", "prices", from_inbox=True)
    bronze, ledger, _, quarantine = re.findall(
        r'tidegate sql "(.*)"', FIRST_TABLE.read_text()
    )  # the third is of silver
    rows, decisions = lake.sql(bronze), lake.sql(ledger)
    assert sorted(map(tuple, rows)) == [("north", 1.5), ("south", 2.5)]
    assert [(row["key"], row["status"]) for row in decisions] == [("prices/monday.csv", "committed")]

    (bad,) = re.findall(r"printf '(.*)' > exports/prices/wednesday.csv", FIRST_TABLE.read_text())
    lake.put("prices/wednesday.csv", bad.replace("\\n", "\n"))
    lake.intake()
    lake.materialize("bronze", "prices", from_inbox=True)
    assert [tuple(row) for row in lake.sql(f"{bronze} WHERE day = DATE '2026-11-25'")] == [("south", 2.75)]
    assert [(row["key"], row["reason"]) for row in lake.sql(quarantine)] == [
        ("prices/wednesday.csv", "column price is double, and this is not: ?")
    ]


def test_the_reader_s_assets_take_dagster_s_resources_and_ours(
    tidegate_lake: Callable[..., TestLake], shell: Shell
) -> None:
    """One code location holds both, so the keys of the resources must not collide."""
    columns = {"id": "int", "state": "string", "changed": "int"}
    silver = {"keys": ["id"], "order": "changed", "every": 10}
    lake = tidegate_lake(
        [{"name": "orders", "prefix": "orders/", "format": "json", "columns": columns, "silver": silver}]
    )
    lake.put("orders/a.json", "".join(f'{{"id": {n}, "state": "{"ab"[n % 2]}", "changed": 1}}\n' for n in range(3)))
    lake.materialize("bronze", "orders")
    lake.materialize("silver/orders")
    SqlNames(lake.lake).name_tables()
    shell.use(lake)
    (block,) = _blocks(YOUR_ASSETS, "python")
    names: dict[str, Any] = {}
    exec(compile(block.replace('"landing"', f'"{lake.bucket}"'), str(YOUR_ASSETS), "exec"), names)

    gold: dg.Definitions = names["defs"]
    # In a location of its own, as the page has it.
    with dg.DagsterInstance.ephemeral() as instance:
        job = gold.resolve_implicit_global_asset_job_def()
        done = job.execute_in_process(instance=instance, asset_selection=[dg.AssetKey("row_counts")])
    (made,) = done.asset_materializations_for_node("row_counts")
    assert {name: value.value for name, value in made.metadata.items()} == {"bronze": 3, "silver": 3}

    rows_in_an_asset, own_location, a_program, by_kind, of_a_day = _blocks(PYTHON, "python")
    exec(compile(rows_in_an_asset.replace("'open'", "'a'"), str(PYTHON), "exec"), names)
    for block in (own_location, a_program, by_kind, of_a_day):
        exec(compile(block.replace('"lake.yaml"', repr(str(lake.path))), str(PYTHON), "exec"), names)
    with dg.DagsterInstance.ephemeral() as instance:
        job = names["defs"].resolve_implicit_global_asset_job_def()
        done = job.execute_in_process(instance=instance, asset_selection=[dg.AssetKey("open_orders")])
    (made,) = done.asset_materializations_for_node("open_orders")
    assert {name: value.value for name, value in made.metadata.items()} == {"open": 2, "all": 3, "refused": 0}
    assert names["first_row"](lake.resource, "SELECT count(*) AS n FROM silver.orders")["n"] == 3
    with pytest.raises(dg.Failure, match=rf"cannot be found.*\(Tidegate {tidegate.__version__}\)"):
        names["first_row"](lake.resource, "SELECT * FROM silver.nothing")
    with pytest.raises(tidegate.DataError, match="inventories"):
        names["bytes_by_bucket"](lake.resource, date(2026, 10, 1))

    others = {name: resource for name, resource in (gold.resources or {}).items() if name != "lake"}
    both = dg.Definitions.merge(lake.definitions, dg.Definitions(assets=gold.assets, resources=others))
    job = both.resolve_implicit_global_asset_job_def()
    with dg.DagsterInstance.ephemeral() as instance:
        done = job.execute_in_process(instance=instance, asset_selection=[dg.AssetKey("orders_by_state")])
    (made,) = done.asset_materializations_for_node("orders_by_state")
    assert made.metadata["states"].value == 2
    written = lake.clients.s3.get_object(Bucket=lake.bucket, Key="_reports/orders.csv")["Body"].read()
    assert written == b"state,n\na,2\nb,1\n"
    lake.intake()
    assert set(lake.lake.store.births.tables()) == {lake.key("orders")}
