"""Requests per second of `tidegate webhook`, compared with a bare Starlette app that sends each body to the same SQS.

Both run in turn, each as one process, on ElasticMQ, with the same clients: connections that stay open, each with one
delivery at a time. The bare app verifies nothing, bounds nothing, and sends one message a request in a thread pool.
Prints JSON.

    python -m benchmarks.events.webhook [--deliveries 6000] [--connections 32] [--rounds 3]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import hmac
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3

from benchmarks.support.elasticmq import elasticmq
from tests.support.plugins.processes import listens
from tidegate.platform.local.aws import REGION
from tidegate.platform.local.process.ports import LOOPBACK, free_port
from tidegate.platform.local.process.process import Process, spawn

_SECRET = "a-secret-of-benchmarks"
_LAKE = """\
lake: {root: "s3://lake/x"}
queues: [{name: events}]
buckets: [landing]
tables: [{name: orders, row_queue: {name: orders-rows}}]
webhooks: [{name: shop, queue: orders-rows, verification: github, secrets: [{env: BENCH_SECRET}], rate: 100000}]
"""
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": REGION}
_ROOT = Path(__file__).resolve().parents[2]
#: Seconds for all deliveries of a round.
_DEADLINE = 300


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.events.webhook")
    parser.add_argument("--deliveries", type=int, default=6000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bare", type=int, metavar="PORT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        _serve_bare(options.bare)
        return
    with tempfile.TemporaryDirectory(prefix="tg") as folder, elasticmq(Path(folder) / "mq") as endpoint:
        os.environ.update(_CREDENTIALS, AWS_ENDPOINT_URL=endpoint, BENCH_SECRET=_SECRET)
        sqs = boto3.client("sqs", region_name=REGION)
        url = sqs.create_queue(QueueName="orders-rows")["QueueUrl"]
        rounds: dict[str, list[dict[str, float]]] = {"bare": [], "webhook": []}
        for _ in range(options.rounds):
            for name, found in rounds.items():
                with _server(name, Path(folder)) as (process, port):
                    _drive(port, options.connections * 4, options.connections)  # warms up
                    found.append(_measured(process, port, options.deliveries, options.connections))
                sqs.purge_queue(QueueUrl=url)
    shown = {name: {key: round(statistics.median(entry[key] for entry in found), 2) for key in found[0]}
             for name, found in rounds.items()}  # fmt: skip
    ratio = shown["webhook"]["requests_a_second"] / shown["bare"]["requests_a_second"]
    cpu = shown["bare"]["cpu_ms"] / shown["webhook"]["cpu_ms"]
    given = {"deliveries": options.deliveries, "connections": options.connections}
    print(json.dumps({**given, **shown, "ratio": round(ratio, 2), "ratio_of_cpu": round(cpu, 2)}, indent=2))


@contextmanager
def _server(name: str, folder: Path) -> Iterator[tuple[Process, int]]:
    port = free_port()
    (folder / "lake.yaml").write_text(_LAKE)
    ours = ["-m", "tidegate.platform.cli.main", "webhook", "--port", str(port), "--lake", str(folder / "lake.yaml")]
    ours += ["--operations-port", "0"]
    arguments = ours if name == "webhook" else ["-m", "benchmarks.events.webhook", "--bare", str(port)]
    process = spawn(name, [sys.executable, *arguments], log=folder / f"{name}.log", cwd=_ROOT)
    try:
        listens(process, port)
        yield process, port
    finally:
        process.stop()


def _serve_bare(port: int) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    sqs = boto3.client("sqs", region_name=REGION)
    url = sqs.get_queue_url(QueueName="orders-rows")["QueueUrl"]

    def send(text: str) -> str:
        return str(sqs.send_message(QueueUrl=url, MessageBody=text)["MessageId"])

    async def deliver(request: Request) -> Response:
        body = await request.body()
        return JSONResponse({"row": await run_in_threadpool(send, body.decode())})

    routes = [Route("/{sender}", deliver, methods=["POST"])]
    uvicorn.run(Starlette(routes=routes), port=port, access_log=False, log_config=None)


def _measured(process: Process, port: int, deliveries: int, connections: int) -> dict[str, float]:
    cpu, begun = _cpu_seconds(process.pid), time.monotonic()
    times = sorted(_drive(port, deliveries, connections))
    seconds = time.monotonic() - begun
    return {
        "requests_a_second": deliveries / seconds,
        "cpu_ms": (_cpu_seconds(process.pid) - cpu) / deliveries * 1000,
        "p50_ms": times[len(times) // 2] * 1000,
        "p99_ms": times[len(times) * 99 // 100] * 1000,
    }


def _drive(port: int, deliveries: int, connections: int) -> list[float]:
    """Send deliveries. Returns the seconds of each."""
    numbers = iter(range(deliveries))

    async def sender() -> list[float]:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        times = []
        for number in numbers:
            begun = time.monotonic()
            writer.write(_delivery(number))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 "), head
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
            times.append(time.monotonic() - begun)
        writer.close()
        return times

    async def every() -> list[float]:
        async with asyncio.timeout(_DEADLINE):
            found = await asyncio.gather(*(sender() for _ in range(connections)))
        return [seconds for times in found for seconds in times]

    return asyncio.run(every())


def _delivery(number: int) -> bytes:
    row: dict[str, Any] = {"id": number, "name": f"row {number}", "price": number / 4, "tags": ["a", "b"]}
    body = json.dumps({**row, "text": "x" * 800}).encode()
    signature = hmac.digest(_SECRET.encode(), body, hashlib.sha256).hex()
    head = (
        f"POST /shop HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"X-GitHub-Delivery: {number}\r\nX-Hub-Signature-256: sha256={signature}\r\n\r\n"
    )
    return head.encode() + body


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
