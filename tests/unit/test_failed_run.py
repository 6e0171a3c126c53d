"""What `tidegate trace` says of a table's failed runs."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from tidegate.platform.cli.failed_run import failed_run

TABLE = "landing.orders"


def test_the_last_run_of_the_table_is_told_if_it_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    assert failed_run(None, TABLE) is None
    assert failed_run(tmp_path, TABLE) is None
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
    assert failed_run(tmp_path, TABLE) is None
    failed = run(TABLE)
    told = failed_run(tmp_path, TABLE) or ""
    assert told.startswith(f"the last run of {TABLE} failed at 20")
    assert told.endswith(f"Z (run {failed}): RuntimeError: the load failed")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    assert failed_run(None, TABLE) == told
    broken = False
    run(TABLE)
    assert failed_run(None, TABLE) is None
