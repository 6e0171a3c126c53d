"""The messages of commands about tables whose last run failed."""

import json
from pathlib import Path

import dagster as dg
import pytest

from tidegate.assets.runs.held_tables import FAILED_TAG
from tidegate.platform.cli.check.runs import check_runs
from tidegate.platform.cli.dagster_storage import failed_run, last_failures

TABLE = "landing.orders"


def test_the_last_run_of_the_table_is_reported_if_it_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    assert failed_run(None, "", TABLE) is None
    assert failed_run(tmp_path, "", TABLE) is None
    (tmp_path / "dagster").mkdir()
    broken = True

    @dg.op
    def load() -> None:
        if broken:
            raise RuntimeError("the load failed\nand a second line")

    @dg.job
    def bronze_job() -> None:
        load()

    def run(partition: str) -> str:
        with dg.DagsterInstance.from_config(str(tmp_path / "dagster")) as instance:
            tags = {"dagster/partition": partition}
            return bronze_job.execute_in_process(instance=instance, tags=tags, raise_on_error=False).run_id

    run("landing.other")
    assert failed_run(tmp_path, "", TABLE) is None
    failed = run(TABLE)
    reason = failed_run(tmp_path, "", TABLE) or ""
    assert reason.startswith(f"the last run of {TABLE} failed at 20")
    assert reason.endswith(f"Z (run {failed}): RuntimeError: the load failed")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    assert failed_run(None, "", TABLE) == reason
    broken = False
    run(TABLE)
    assert failed_run(None, "", TABLE) is None


def test_every_table_whose_last_run_failed_is_reported_with_its_own_error(tmp_path: Path) -> None:
    """Own runs, shared runs and silver merges, as the jobs of these names leave them."""
    (tmp_path / "dagster").mkdir()
    broken: dict[str, str] = {}

    @dg.op(config_schema={"tables": [str]})
    def bronze_shared(context: dg.OpExecutionContext) -> None:
        if failed := {table: broken[table] for table in context.op_config["tables"] if table in broken}:
            raise dg.Failure(
                "\n".join([f"{len(failed)} failed:", *(f"{table}: {why}" for table, why in failed.items())])
            )

    @dg.op
    def merge() -> None:
        if "silver" in broken:
            raise ValueError(broken["silver"])

    @dg.job
    def bronze_shared_job() -> None:
        bronze_shared()

    @dg.job
    def silver_orders_job() -> None:
        merge()

    def share(*tables: str) -> None:
        with dg.DagsterInstance.from_config(str(tmp_path / "dagster")) as instance:
            config = {"ops": {"bronze_shared": {"config": {"tables": list(tables)}}}}
            result = bronze_shared_job.execute_in_process(instance=instance, run_config=config, raise_on_error=False)
            instance.add_run_tags(
                result.run_id, {FAILED_TAG: json.dumps([table for table in tables if table in broken])}
            )

    def merges() -> None:
        with dg.DagsterInstance.from_config(str(tmp_path / "dagster")) as instance:
            silver_orders_job.execute_in_process(instance=instance, raise_on_error=False)

    def reasons(*tables: str) -> dict[str, str]:
        failed = last_failures(tmp_path, "", tables, ["orders"]) or {}
        return {table: said.partition("): ")[2] for table, said in failed.items()}

    assert reasons(TABLE, "landing.b") == {}
    broken |= {TABLE: "DELTA_SAID_NO", "silver": "no such column", "of.another": "?"}
    share("landing.b", TABLE, "of.another")
    merges()
    assert reasons(TABLE, "landing.b") == {"silver.orders": "ValueError: no such column", TABLE: "DELTA_SAID_NO"}
    (first, second) = check_runs(tmp_path, "", [TABLE, "landing.b"], ["orders"])
    assert (first.ok, first.what, second.what) == (False, "last run of silver.orders", f"last run of {TABLE}")
    assert second.detail.endswith(": DELTA_SAID_NO")
    assert failed_run(tmp_path, "", TABLE) == f"the last run of {TABLE} {second.detail}"

    broken["landing.b"] = broken.pop(TABLE)
    share("landing.b", TABLE)
    assert set(reasons(TABLE, "landing.b")) == {"silver.orders", "landing.b"}, (
        "a failed run that had no trouble with it"
    )
    broken.clear()
    share("landing.b")
    with dg.DagsterInstance.from_config(str(tmp_path / "dagster")) as instance:
        made = dg.asset(key=["silver", "orders"])(lambda: None)
        assert dg.materialize([made], instance=instance).success  # by hand, not by its job
    assert reasons(TABLE, "landing.b") == {}
    assert [finding.detail for finding in check_runs(tmp_path, "", [TABLE], [])] == ["none failed"]


def test_where_dagster_is_not_at_hand_nothing_is_reported_as_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    (finding,) = check_runs(None, "", [TABLE], [])
    assert finding.detail.startswith("not checked: DAGSTER_HOME")
    (tmp_path / "dagster").mkdir()
    (tmp_path / "dagster" / "dagster.yaml").write_text("storage: {nothing: here}\n", encoding="utf-8")
    (finding,) = check_runs(tmp_path, "", [TABLE], [])
    assert not finding.ok
    assert finding.detail.startswith(f"Dagster on {tmp_path / 'dagster'} could not be asked about its runs: ")
