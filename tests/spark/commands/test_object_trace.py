"""`tidegate trace`: every stop on an object's way. The test causes each stop in a real lake."""

from __future__ import annotations

from collections.abc import Callable

import yaml

from tests.spark.conftest import Shell
from tests.support.lakes.seams import dying_at, seams_watched
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.cli.commands.object_trace import TraceAnswer, run_trace
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.operations.object_trace import trace
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_objects, redrive_objects
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]


def test_an_object_is_followed_to_its_table(
    tidegate_lake: MakeLake,
    shell: Shell,
) -> None:
    lake = tidegate_lake(
        [{"name": "orders", "prefix": "orders/", "format": "json", "columns": {"id": "int"}}], discovery=False
    )
    table_key, bucket = lake.key("orders"), lake.bucket

    def trail(key: str = "orders/a.json") -> tuple[list[str], str]:
        found = trace(lake.lake, bucket, key)
        return [f"{stop.what}: {stop.detail}" for stop in found.stops], found.verdict

    (s3, route), verdict = trail()
    assert s3 == "S3: no such object"
    assert route.startswith("route: it is below s3://")
    assert verdict == "there is no record of such an object"

    lake.put("orders/a.json", '{"id": 1}')
    _, verdict = trail()
    assert verdict.startswith("it is not in bronze.orders, and no event announced it. Its message may wait in a queue")
    assert "messages and 0 in flight" in verdict

    lake.intake()
    (_, _, inbox), verdict = trail()
    assert inbox.startswith("inbox: ObjectCreated:Put (event ")
    assert trace(lake.lake, bucket, "orders/a.json").waits_for == table_key
    assert verdict.startswith(f"it waits for the next run of {table_key}: the sensor requests a run within ")

    with seams_watched(), dying_at("decide"):
        run_table(lake.lake.table(table_key), RunOptions(run_id="r1"))
    stops, verdict = trail()
    assert stops[2].startswith("batch 1: run r1 decided that it is committed, and the batch was not committed: that")
    assert verdict.startswith("it waits for the next run")
    with seams_watched(), dying_at("commit"):
        run_table(lake.lake.table(table_key), RunOptions(run_id="r1"))
    assert "and the batch was committed, but is not in the ledger: that run is still active, or failed" in trail()[0][2]

    run_table(lake.lake.table(table_key), RunOptions(run_id="r2"))
    (_, _, batch), verdict = trail()
    assert batch.startswith("batch 1: committed by run r2; 1 rows in bronze.orders as of version 0; etag ")
    assert verdict == "its present bytes are in bronze.orders since version 0"

    lake.put("orders/a.json", '{"id": "?"}')
    assert trail()[1].startswith("its present bytes are not in bronze.orders, and no event announced them")
    lake.intake()
    run_table(lake.lake.table(table_key), RunOptions(run_id="r3"))
    stops, verdict = trail()
    assert stops[3].startswith("batch 2: quarantined by run r3; etag ")
    assert "none of its 1 rows fits the table" in stops[3]
    assert (
        verdict == f"it is in quarantine; fix the cause, then: tidegate redrive {table_key} --key orders/a.json --yes"
    )
    redrive_objects(
        lake.lake, table_key, quarantined_objects(lake.lake, table_key, Choice()), RedriveRequest("somebody")
    )
    stops, _ = trail()
    assert stops[4].startswith("inbox: Redriven waits in manifest ")
    assert stops[4].endswith("from redrive")

    lake.delete("orders/a.json")
    assert trail()[1].startswith("it waits for the next run")  # the hint of the redrive waits
    lake.intake()
    run_table(lake.lake.table(table_key), RunOptions(run_id="r4"))
    assert trail()[1] == "it is gone, and bronze.orders knows: loaded rows stay"

    lake.put("elsewhere/b.json", "{}")
    lake.intake()
    (_, route, logged), verdict = trail("elsewhere/b.json")
    assert route.startswith("route: it is below no table's prefix")
    assert logged.startswith("intake log: event ")
    assert "counted as no_table" in logged
    assert verdict == "it belongs to no table, see the route"

    shell.use(lake)
    run_trace(shell, f"s3://{bucket}/orders/a.json", None, None)
    assert "batch 2    quarantined by run r3" in shell.said()
    assert shell.said().endswith("it is gone, and bronze.orders knows: loaded rows stay\n")
    before = len(shell.said())
    run_trace(shell, f"s3://{bucket}/orders/a.json", None, None, as_json=True)
    answer = TraceAnswer.model_validate_json(shell.said()[before:], strict=True)
    assert answer.verdict == "it is gone, and bronze.orders knows: loaded rows stay"
    assert [stop.what for stop in answer.stops] == ["S3", "route", "batch 1", "batch 2", "batch 3"]
    assert (answer.waits_for, answer.last_failure) == (None, None)

    # The table takes such files now, and the event of this one is not repeated.
    body = yaml.safe_load(lake.path.read_text())
    body["tables"].append({"name": "elsewhere", "prefix": f"s3://{bucket}/elsewhere/", "format": "json"})
    lake.path.write_text(yaml.safe_dump(body, sort_keys=False))
    lake.config = lake.lake.config = load_lake(lake.path)
    (_, route, logged), verdict = trail("elsewhere/b.json")
    assert route.startswith("route: it is below s3://")
    assert logged.startswith("intake log: event ")
    assert verdict.startswith(
        "it is not in bronze.elsewhere: its event came when no table took it, and is not repeated. A run that "
    )
