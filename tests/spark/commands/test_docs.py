"""The examples of testing-your-lake.md, the tutorial and your-assets.md, run as they are written there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from typer.testing import CliRunner

import tidegate
from tests.spark.conftest import Kit, Shell
from tests.support.pages import code_blocks, written_files
from tidegate.platform.cli.commands.infer import run_infer
from tidegate.platform.cli.main import app
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.testing import TestLake

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "guides" / "testing-your-lake.md"
FIRST_TABLE = DOCS / "start" / "first-table.md"
YOUR_TABLES = DOCS / "start" / "your-tables.md"
YOUR_ASSETS = DOCS / "guides" / "your-assets.md"
PYTHON = DOCS / "reference" / "python.md"


def test_the_examples_of_the_testing_page_pass(
    tidegate_lake: Callable[..., TestLake], tidegate_stack: LocalStack
) -> None:
    for block, fixture in zip(code_blocks(PAGE, "python"), (tidegate_lake, tidegate_stack), strict=True):
        names: dict[str, Any] = {}
        exec(compile(block, str(PAGE), "exec"), names)
        (test,) = [value for name, value in names.items() if name.startswith("test_")]
        test(fixture)


def _type(command: str, lake: TestLake, names: Mapping[str, str]) -> str:
    """Run a command of a page with the names of a lake in the place of the page's. Return its output."""
    for name, here in {"s3://landing": f"s3://{lake.bucket}", **names}.items():
        command = command.replace(name, here)
    program, *arguments = shlex.split(command, comments=True)
    assert program == "tidegate"
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, SystemExit | None), f"{command}: {done.exception!r}"
    # `status` ends so if something needs a person, and `check` if it finds something.
    assert done.exit_code == 0 or (done.exit_code == 1 and arguments[0] in ("status", "check")), (command, done.output)
    return done.output


def test_the_tutorial_is_done_step_by_step_as_its_pages_say(
    tidegate_lake: Callable[..., TestLake],
    shell: Shell,
    kit: Kit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = FIRST_TABLE.read_text()
    lake = tidegate_lake([{"name": "prices", "prefix": "prices/"}])
    shell.use(lake)
    monkeypatch.chdir(tmp_path)
    files = written_files(FIRST_TABLE)
    monday, tuesday, wednesday = files
    (tmp_path / monday).parent.mkdir(parents=True)
    (tmp_path / monday).write_text(files[monday])
    (block,) = code_blocks(FIRST_TABLE, "python")
    assert "http://127.0.0.1:4566" in block
    here = block.replace("http://127.0.0.1:4566", lake.stack.aws.endpoint).replace('"landing"', f'"{lake.bucket}"')
    exec(compile(here, str(FIRST_TABLE), "exec"), {})
    assert run_infer(shell, f"s3://{lake.bucket}/", None), shell.said()
    assert f'prefix: "s3://{lake.bucket}/prices/"' in shell.said()

    def ingest() -> None:
        lake.intake()
        lake.materialize("bronze", "prices", from_inbox=True)

    def put(path: str) -> None:
        (bucket, key) = re.findall(rf"^aws s3 cp {path} s3://(\w+)/(\S+)$", page, re.M)[0]
        assert bucket == "landing"
        lake.put(key, files[path])

    # Steps 3 and 4
    ingest()
    bronze, ledger, silver, quarantine = re.findall(r'tidegate sql "(.*)"', page)
    rows, decisions = lake.sql(bronze), lake.sql(ledger)
    assert sorted(map(tuple, rows)) == [("north", 1.5), ("south", 2.5)]
    assert [(row["key"], row["status"]) for row in decisions] == [("prices/monday.csv", "committed")]
    (trace,) = re.findall(r"^    (tidegate trace .*)$", page, re.M)
    assert "committed" in _type(trace, lake, {})

    # Step 5
    _, added = code_blocks(FIRST_TABLE, "yaml")
    kit.configure(lake, **yaml.safe_load(added))
    put(tuesday)
    ingest()
    kit.merge(lake, "prices")
    assert sorted(map(tuple, lake.sql(silver))) == [("north", 1.75), ("south", 2.5)]
    assert sorted(map(tuple, lake.sql(bronze))) == [("north", 1.5), ("north", 1.75), ("south", 2.5)]

    # Step 6
    put(wednesday)
    ingest()
    assert [tuple(row) for row in lake.sql(f"{bronze} WHERE day = DATE '2026-11-25'")] == [("south", 2.75)]
    reason = "column price is double, and this is not: ?"
    assert [(row["key"], row["reason"]) for row in lake.sql(quarantine)] == [("prices/wednesday.csv", reason)]
    look, retry = re.findall(r"`(tidegate redrive[^`]*)`", page)
    said = _type(look, lake, {})
    assert "prices/wednesday.csv" in said
    assert "Nothing was changed" in said
    lake.intake()
    assert not lake.lake.store.inbox.waiting_manifests(), "a look sends nothing"
    _type(retry, lake, {})
    ingest()
    assert [(row["key"], row["reason"]) for row in lake.sql(quarantine)] == [("prices/wednesday.csv", reason)]
    assert [tuple(row) for row in lake.sql(f"{bronze} WHERE day = DATE '2026-11-25'")] == [("south", 2.75)]

    # What `infer` and `dev` do is shown by other tests, and `tail` ends by Ctrl-C.
    lake.path.write_text(lake.path.read_text() + "metrics: cloudwatch\n")  # as the page asks for alarms
    (commands,) = code_blocks(YOUR_TABLES, "console")
    names = {"orders/a.json": "prices/monday.csv", "order_id=42": "shop=north", "orders": "prices"}
    ran = {}
    for command in commands.splitlines():
        name = command.split()[1]
        if name not in ("infer", "dev"):
            ran[name] = _type(command.replace("tidegate tail", "tidegate tail --for 0"), lake, names)
    assert list(ran) == ["check", "status", "tail", "trace", "why", "policy", "alarms", "redrive", "rebuild", "reset"]
    for name, text in {
        "status": "1 table",
        "trace": "committed",
        "why": "1.75",
        "policy": '"Statement"',
        "alarms": "AWS::CloudWatch::Alarm",
        "redrive": "prices/wednesday.csv",
        "rebuild": "prices",
        "reset": "prices",
    }.items():
        assert text in ran[name], (name, ran[name])


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
    (block,) = code_blocks(YOUR_ASSETS, "python")
    names: dict[str, Any] = {}
    exec(compile(block.replace('"landing"', f'"{lake.bucket}"'), str(YOUR_ASSETS), "exec"), names)

    gold: dg.Definitions = names["defs"]
    # In a location of its own, as the page has it.
    with dg.DagsterInstance.ephemeral() as instance:
        job = gold.resolve_implicit_global_asset_job_def()
        done = job.execute_in_process(instance=instance, asset_selection=[dg.AssetKey("row_counts")])
    (made,) = done.asset_materializations_for_node("row_counts")
    assert {name: value.value for name, value in made.metadata.items()} == {"bronze": 3, "silver": 3}

    rows_in_an_asset, own_location, a_program, by_kind, of_a_day = code_blocks(PYTHON, "python")
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
