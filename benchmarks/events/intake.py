"""Intake: ticks that drain a queue, compared with a bare loop of receives and deletes with as many threads.

Measures on the local AWS, and on ElasticMQ, an SQS server that answers faster. S3 is that of the local AWS in both
cases. The events of 26 tables wait before the first tick, as after the export of a database.

    python -m benchmarks.events.intake [--events N] [--threads N] [--only local|elasticmq]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.support.elasticmq import elasticmq
from benchmarks.support.machine import Machine
from benchmarks.support.messages import receive_all, send_all
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.local.aws import REGION

TABLES = 26
#: Intake opens no table.
_NO_TABLES: Any = None
SERVERS = ("local", "elasticmq")


def body(n: int) -> str:
    """Return the event of the n-th object."""
    table = n % TABLES
    event = {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": REGION,
        "eventTime": "2026-11-23T05:00:00.000Z",
        "eventName": "ObjectCreated:Put",
        "userIdentity": {"principalId": "AWS:AIDAEXAMPLE"},
        "requestParameters": {"sourceIPAddress": "10.0.0.1"},
        "responseElements": {"x-amz-request-id": f"{n:016X}", "x-amz-id-2": "x" * 76},
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "tidegate",
            "bucket": {"name": "landing", "ownerIdentity": {"principalId": "A1"}, "arn": "arn:aws:s3:::landing"},
            "object": {
                "key": f"export/table_{table:02d}/day%3D2026-11-23/part-{n:08d}.parquet",
                "size": 1_048_576,
                "eTag": f"{n:032x}",
                "sequencer": f"{n:016X}",
            },
        },
    }
    return json.dumps({"Records": [event]})


def resident() -> int:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def ticks(lake: Lake, events: int) -> dict[str, Any]:
    """Tick until the queue is empty."""
    seconds, received, memory, flying = 0.0, 0, [], 0
    cpu = time.process_time()
    while received < events:
        begun = time.monotonic()
        taken = take_in(lake)
        seconds += time.monotonic() - begun
        assert not taken.failures, taken.failures
        assert taken.received, f"{events - received} events never came"
        received += taken.received
        memory.append(resident())
        flying = max(flying, lake.queues[0].depth()[1])
    cpu = time.process_time() - cpu
    hints = sum(backlog.hints for backlog in lake.store.walk_backlogs())
    assert received == hints == events, f"of {events} events {received} were received, {hints} hints are in the inbox"
    third = max(1, len(memory) // 3)
    return {
        "ticks": len(memory),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "in_flight_after_a_tick": flying,
        "megabytes_after_each_tick": memory,
        "memory_of_the_last_third_by_the_first": round(max(memory[-third:]) / max(memory[:third]), 2),
    }


def measured(sqs: Any, url: str, lake: Lake, events: int, threads: int) -> dict[str, Any]:
    """Measure both on one server, the bare loop first."""
    send_all(sqs, url, events, body)
    begun, cpu = time.monotonic(), time.process_time()
    done = receive_all(sqs, url, threads)
    seconds, cpu = time.monotonic() - begun, time.process_time() - cpu
    assert done == events, f"{events} messages were sent, {done} arrived"
    send_all(sqs, url, events, body)
    tidegate = ticks(lake, events)
    return {
        "events": events,
        "bare": {"per_second": round(events / seconds), "cpu_seconds": round(cpu, 1)},
        "tidegate": {"per_second": round(events / tidegate["seconds"]), **tidegate},
        "ratio": round(seconds / tidegate["seconds"], 2),
        "ratio_of_cpu": round(cpu / tidegate["cpu_seconds"], 2),
    }


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=4, help="receivers of the bare loop and of the ticks")
    parser.add_argument("--only", choices=SERVERS, help="one server")
    chosen = parser.parse_args()
    result: dict[str, Any] = {}
    with ExitStack() as running:
        home = Path(running.enter_context(tempfile.TemporaryDirectory()))
        machine = running.enter_context(Machine(home))
        for server in [chosen.only] if chosen.only else SERVERS:
            queues = machine.aws.endpoint
            if server == "elasticmq":
                queues = running.enter_context(elasticmq(home / "elasticmq"))
            sqs = machine.clients(queues).sqs
            url = sqs.create_queue(QueueName=f"bench-{server}", Attributes={"VisibilityTimeout": "120"})["QueueUrl"]
            lake = _lake(machine, server, url, sqs, chosen.threads)
            result[server] = measured(sqs, url, lake, chosen.events, chosen.threads)
    print(json.dumps(result, indent=2))


def _lake(machine: Machine, name: str, url: str, sqs: Any, threads: int) -> Lake:
    config = LakeConfig.model_validate(
        {
            "lake": {"root": f"s3://lake/{name}"},
            "queues": [{"url": url}],
            "buckets": ["landing"],
            "intake": {"threads": threads},
            "tables": [
                {"name": f"table_{n:02d}", "prefix": f"s3://landing/export/table_{n:02d}/"} for n in range(TABLES)
            ],
        }
    )
    aws = Aws.from_environ(machine.aws.environ)
    s3 = aws.with_endpoint(REGION, machine.aws.endpoint).client("s3")
    for bucket in ("lake", "landing"):
        s3.create_bucket(Bucket=bucket)
    direct = aws.with_endpoint(REGION, sqs.meta.endpoint_url).client("sqs")
    return Lake(config, LakeStore(ObjectStore(s3), config.lake.root), _NO_TABLES, [Queue(direct, url)])


if __name__ == "__main__":
    main()
