"""A tick of the intake sensor while thousands of tables wait, in a Dagster instance with its own storage on disk.

Each table has one manifest in the inbox. No requested run is started, but each counts as active, so that the next tick
sees it.

    python -m benchmarks.events.tick [--tables N] [--ticks N]
"""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dagster as dg

from benchmarks.support.arguments import arguments
from benchmarks.support.machine import Machine
from tests.support.servers.fault_proxy import FaultProxy
from tests.support.servers.fault_rules import Rule
from tests.support.ticks import evaluate
from tidegate.assets.keys import SHARED_JOB, LakeNames
from tidegate.assets.runs.held_tables import RunTables
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.definitions import build_definitions
from tidegate.platform.local.aws import REGION
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource


def main() -> None:
    """Measure and print JSON."""
    chosen = arguments("tick", tables=5_000, ticks=4)
    with ExitStack() as running:
        home = Path(running.enter_context(tempfile.TemporaryDirectory()))
        machine = running.enter_context(Machine(home))
        proxy = running.enter_context(FaultProxy(machine.aws.endpoint))
        instance = running.enter_context(dg.DagsterInstance.local_temp(str(home)))
        requests = proxy.count(".*", ".*")
        resource = _resource(home, machine, proxy.endpoint)
        lake = resource.open()
        keys = [TableKey("landing", f"export/table_{n:05d}/").encode() for n in range(chosen.tables)]
        lake.store.inbox.put(
            [Manifest.create(key, "intake", [Hint(f"export/table_{n:05d}/a.json")]) for n, key in enumerate(keys)]
        )
        definitions = build_definitions(lake.config, resource)
        ticks, cursor = [], None
        for _ in range(chosen.ticks):
            found, cursor = _tick(definitions, instance, resource, requests, cursor)
            ticks.append(found)
    print(json.dumps({"tables": chosen.tables, "ticks": ticks}, indent=2))


def _tick(
    definitions: dg.Definitions, instance: dg.DagsterInstance, resource: LakeResource, asked: Rule, cursor: str | None
) -> tuple[dict[str, Any], str | None]:
    before, begun, cpu = len(asked.requests), time.monotonic(), time.process_time()
    answer = evaluate("intake", definitions, instance, resource, cursor)
    seconds, cpu = time.monotonic() - begun, time.process_time() - cpu
    requests = len(asked.requests) - before
    for request in answer.dynamic_partitions_requests or ():
        instance.add_dynamic_partitions(LakeNames().name("tables"), list(request.partition_keys))
    tables = 0
    for request in answer.run_requests or ():
        tags = dict(request.tags)
        if request.partition_key:
            tags["dagster/partition"] = request.partition_key
        run = instance.create_run_for_job(
            definitions.resolve_job_def(request.job_name or ""),
            run_config=request.run_config,
            status=dg.DagsterRunStatus.NOT_STARTED,
            tags=tags,
        )
        tables += len(RunTables(instance).find(run))
    shared = sum(request.job_name == SHARED_JOB for request in answer.run_requests or ())
    result = {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "requests_to_aws": requests,
        "runs": len(answer.run_requests or ()),
        "shared": shared,
        "tables": tables,
    }
    return result, answer.cursor


def _resource(home: Path, machine: Machine, endpoint: str) -> LakeResource:
    s3, sqs = machine.clients().s3, machine.clients().sqs
    for bucket in ("lake", "landing"):
        s3.create_bucket(Bucket=bucket)
    sqs.create_queue(QueueName="bench")
    path = home / "lake.yaml"
    path.write_text("lake: {root: s3://lake/lake}\nqueues: [{name: bench}]\nbuckets: [landing]\nwindow: 0\n")
    aws = machine.aws.environ
    return LakeResource(
        lake_yaml=str(path),
        spark_remote="sc://127.0.0.1:1",
        aws=AwsResource(
            endpoint_url=endpoint,
            region_name=REGION,
            aws_access_key_id=aws["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=aws["AWS_SECRET_ACCESS_KEY"],
        ),
    )


if __name__ == "__main__":
    main()
